import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createBoundedWriter } from './bounded-writer.ts'

/** A stream with a reader that reads only when the test requests it. */
function slowStream() {
  const taken: string[] = []
  let next: (() => void) | undefined
  const stream = new Writable({
    highWaterMark: 10,
    decodeStrings: false,
    write(chunk, _encoding, done) {
      taken.push(String(chunk))
      next = done
    },
  })
  const read = async () => {
    while (next) {
      const done = next
      next = undefined
      done()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { stream, taken, read }
}

const options = { maxBytes: 100, onDropped: (count: number) => `[${count} dropped]` }

describe('a writer for a slow reader', () => {
  it('passes everything on in order where the reader keeps up', async () => {
    const { stream, taken, read } = slowStream()
    const write = createBoundedWriter(stream, options)
    for (let at = 0; at < 50; at++) {
      write(`line ${at};`)
      await read()
    }
    expect(taken.join('')).toBe(Array.from({ length: 50 }, (_, at) => `line ${at};`).join(''))
  })

  it('drops the oldest pieces beyond its limit, and writes their number in their place', async () => {
    const { stream, taken, read } = slowStream()
    const write = createBoundedWriter(stream, options)
    const all = Array.from({ length: 5000 }, (_, at) => `${String(at).padStart(9, '0')};`)
    for (const each of all) write(each)
    expect(stream.writableLength).toBeLessThan(50)
    await read()
    const text = taken.join('')
    const [before = '', count = '0', after = ''] = /^(.*)\[(\d+) dropped\](.*)$/.exec(text)!.slice(1)
    expect(after).toBe(all.slice(-10).join(''))
    expect(before.length / 10 + Number(count) + 10).toBe(5000)
    write('now;')
    await read()
    expect(taken.join('')).toBe(`${text}now;`)
  })

  it('holds no more than its limit, whatever a piece is', async () => {
    const { stream, taken, read } = slowStream()
    const write = createBoundedWriter(stream, options)
    write('first')
    write('second')
    write('x'.repeat(1000))
    await read()
    expect(taken.join('')).not.toContain('x')
    expect(taken.at(-1)).toBe('[1 dropped]')
  })

  it('holds exactly as many bytes as its limit', async () => {
    const { stream, taken, read } = slowStream()
    const write = createBoundedWriter(stream, options)
    write('x'.repeat(10))
    for (let at = 0; at < 10; at++) write('ä'.repeat(5))
    await read()
    expect(taken.join('')).toBe(`${'x'.repeat(10)}${'ä'.repeat(50)}`)
    write('x'.repeat(10))
    for (let at = 0; at < 11; at++) write(`${at % 10}`.repeat(10))
    await read()
    expect(taken.join('')).toContain('[1 dropped]1111111111')
  })

  it('writes nothing of what waits after the end of the stream', async () => {
    const { stream, taken } = slowStream()
    const failures: Error[] = []
    stream.on('error', (cause) => failures.push(cause))
    const write = createBoundedWriter(stream, options)
    for (let at = 0; at < 3; at++) write('x'.repeat(10))
    stream.end()
    stream.emit('drain')
    write('late')
    await new Promise(setImmediate)
    expect(failures).toEqual([])
    expect(taken).toEqual(['x'.repeat(10)])
  })

  it('waits for its reader after a long notice', async () => {
    const { stream, taken } = slowStream()
    const write = createBoundedWriter(stream, { ...options, onDropped: () => 'n'.repeat(20) })
    for (let at = 0; at < 20; at++) write('x'.repeat(10))
    stream.emit('drain')
    expect(taken).toEqual(['x'.repeat(10)])
    expect(stream.writableLength).toBe(30)
  })

  it('ends a stream that cannot be written', async () => {
    const { stream, read } = slowStream()
    const write = createBoundedWriter(stream, {
      ...options,
      onDropped: () => {
        throw new Error('no notice')
      },
    })
    for (let at = 0; at < 20; at++) write('x'.repeat(10))
    await read()
    expect(stream.destroyed).toBe(true)
  })

  it('writes nothing after the end', async () => {
    const { stream } = slowStream()
    const write = createBoundedWriter(stream, options)
    stream.end()
    write('late')
    stream.destroy()
    write('later')
    stream.emit('drain')
  })
})
