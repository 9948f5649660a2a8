import { decode, encode } from 'dns-packet'
import { describe, expect, it } from 'vitest'
import { readQuestion, typeA, writeAnswer } from './dns-message.ts'

const ask = (name: string, more: object = {}) =>
  encode({ type: 'query', id: 7, flags: 256, questions: [{ type: 'A', name, class: 'IN' }], ...more })

describe('a question of a container', () => {
  it('is read as another implementation wrote it, in lower case', () => {
    expect(readQuestion(ask('API.Example.com'))).toMatchObject({
      id: 7,
      name: 'api.example.com',
      type: typeA,
      wantsRecursion: true,
    })
    expect(readQuestion(ask('a', { flags: 0 }))!.wantsRecursion).toBe(false)
    expect(
      readQuestion(ask('a', { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 4096 }] }))!.name,
    ).toBe('a')
    expect(readQuestion(ask(`_x-1.${'a'.repeat(63)}.b`))!.name).toBe(`_x-1.${'a'.repeat(63)}.b`)
  })

  it('may have a name of 255 bytes, and no longer one', () => {
    const label = 'a'.repeat(49)
    // Five labels of 50 bytes, one of 4, and the end.
    expect(readQuestion(ask([...Array(5).fill(label), 'abc'].join('.')))!.name).toHaveLength(253)
    expect(readQuestion(ask([...Array(5).fill(label), 'abcd'].join('.')))).toBeUndefined()
  })

  const packet = ask('api.example.com')
  const changed = (at: number, ...bytes: readonly number[]) => {
    const copy = Buffer.from(packet)
    copy.set(bytes, at)
    return copy
  }
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a header alone', packet.subarray(0, 12)],
    ['a name that is cut off', packet.subarray(0, 20)],
    ['a question without its class', packet.subarray(0, -1)],
    ['no question', changed(5, 0)],
    ['two questions', changed(5, 2)],
    ['65,535 questions', changed(4, 255, 255)],
    ['an answer', changed(2, 0x81)],
    ['an update', changed(2, 0x29)],
    ['a pointer', changed(12, 0xc0, 12)],
    ['a pointer behind a label', changed(16, 0xc0, 12)],
    ['a label of an unknown kind', changed(12, 0x40)],
    ['a label of 63 bytes in a short packet', changed(12, 63)],
    ['another class', changed(packet.length - 1, 3)],
    ['a NUL in a label', changed(13, 0)],
    ['a dot in a label', changed(13, 46)],
    ['a space in a label', changed(13, 32)],
    ['a newline in a label', changed(13, 10)],
    ['a byte beyond ASCII in a label', changed(13, 0xe9)],
    ['more than 1232 bytes', Buffer.concat([packet, Buffer.alloc(1300)])],
  ])('is not read with %s', (_, bytes) => expect(readQuestion(bytes)).toBeUndefined())

  it('is not read for the root of all names', () => {
    expect(readQuestion(changed(12, 0))).toBeUndefined()
  })
})

describe('an answer', () => {
  it('is read by another implementation', () => {
    const question = readQuestion(ask('Api.example.com'))!
    const answer = writeAnswer(question, { result: 0, addresses: ['1.2.3.4', '255.0.0.1'], ttlSeconds: 300 })
    expect(decode(answer)).toMatchObject({
      type: 'response',
      id: 7,
      rcode: 'NOERROR',
      flag_ra: true,
      flag_rd: true,
      flag_tc: false,
      questions: [{ name: 'Api.example.com', type: 'A' }],
      answers: [
        { name: 'Api.example.com', type: 'A', ttl: 300, data: '1.2.3.4' },
        { name: 'Api.example.com', type: 'A', ttl: 300, data: '255.0.0.1' },
      ],
    })
  })

  it('states that a name does not exist, or that the answer failed', () => {
    const question = readQuestion(ask('a'))!
    const rcode = (result: number) =>
      (
        decode(writeAnswer(question, { result, addresses: [], ttlSeconds: 1 })) as unknown as {
          rcode: string
        }
      ).rcode
    expect([rcode(3), rcode(2)]).toEqual(['NXDOMAIN', 'SERVFAIL'])
  })

  it('has less than 512 bytes, whatever the name and the number of addresses', () => {
    const question = readQuestion(ask([...Array(5).fill('a'.repeat(49)), 'abc'].join('.')))!
    const addresses = Array(100).fill('1.1.1.1')
    const answer = writeAnswer(question, { result: 0, addresses, ttlSeconds: 1 })
    expect(answer.length).toBeLessThan(512)
    expect(decode(answer).answers).toHaveLength(8)
  })
})
