/** Hostile clients of JSON-RPC over WebSocket, without a credential: the runtime continues to answer others, and its memory stays. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { formerSocketPath, rpcPath } from '@selvedge/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePorts, type Program, root, startProgram, temporaryFolder } from '../harness/processes.ts'
import {
  frame,
  handshakeLines,
  type OpenOptions,
  opcodes,
  openRaw,
  type RawSocket,
} from '../harness/raw-websocket.ts'
import { peakMb, residentMb } from '../system/soak/memory.ts'

let runtime: Program
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  runtime = await startProgram('runtime', {
    SELVEDGE_STATE: folder.path,
    ...freePorts,
    SELVEDGE_IDENTITY_URL: 'http://127.0.0.1:9',
    SELVEDGE_DISCOVERY_URL: 'http://127.0.0.1:9',
    NODE_OPTIONS: `--expose-gc --require=${join(root, 'tests/system/soak/collect-garbage.cjs')}`,
  })
})
afterAll(async () => {
  await runtime.stop()
  await folder.remove()
})

const opened: RawSocket[] = []
afterEach(() => {
  for (const { socket } of opened.splice(0)) socket.destroy()
})

const address = () => ({ host: '127.0.0.1', port: Number(new URL(runtime.url).port) })
const open = async (options: OpenOptions = {}) => {
  const socket = await openRaw(address(), options)
  opened.push(socket)
  return socket
}

const getMe = '{"jsonrpc":"2.0","method":"getMe","id":1}'
const discover = '{"jsonrpc":"2.0","method":"rpc.discover","id":1}'

/** Whether a new client is answered, over WebSocket and over HTTP. */
async function expectServed(): Promise<void> {
  const { send, next, socket } = await open()
  send(frame(getMe))
  expect((await next())?.content.toString()).toContain('"nodeId"')
  socket.destroy()
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(runtime.url + rpcPath, { method: 'POST', headers, body: getMe })
  expect(response.status).toBe(200)
}

/** Memory after a garbage collection, in MB. */
async function memoryMb(): Promise<number> {
  runtime.process.kill('SIGUSR2')
  await expectServed()
  return residentMb(runtime.process.pid!)!
}

/** Clients hold, or leave behind, less than this many MB: what they send, or ask for, would be gigabytes. */
const maxMb = 128

describe('a message', () => {
  it.each<[what: string, frames: () => readonly Buffer[], code: number]>([
    ['binary', () => [frame(getMe, { opcode: opcodes.binary })], 1003],
    ['without a mask', () => [frame(getMe, { masked: false })], 1002],
    ['with a reserved bit', () => [frame(getMe, { reserved: 0x40 })], 1002],
    ['with another reserved bit', () => [frame(getMe, { reserved: 0x10 })], 1002],
    ['of an unknown kind', () => [frame(getMe, { opcode: 3 })], 1002],
    ['that begins with a continuation', () => [frame(getMe, { opcode: opcodes.continuation })], 1002],
    ['inside another one', () => [frame('{', { fin: false }), frame(getMe)], 1002],
    ['with invalid UTF-8', () => [frame(Buffer.from([0x22, 0xff, 0xfe, 0x22]))], 1007],
    ['with half of a character', () => [frame(Buffer.from([0x22, 0xe2, 0x82]))], 1007],
    ['of one byte too many', () => [frame('x'.repeat(1024 * 1024 + 1))], 1009],
    ['that is declared to have 2^40 bytes', () => [frame('x', { declared: 2 ** 40 })], 1009],
    ['that is declared to have 2^60 bytes', () => [frame('x', { declared: 2 ** 60 })], 1009],
    [
      'in fragments that are too large together',
      () => [
        frame('x'.repeat(600_000), { fin: false }),
        frame('x'.repeat(600_000), { fin: false, opcode: opcodes.continuation }),
      ],
      1009,
    ],
    [
      'in fragments without end',
      () => [
        frame('[', { fin: false }),
        ...Array.from({ length: 5000 }, () => frame('1', { fin: false, opcode: opcodes.continuation })),
      ],
      1008,
    ],
    [
      'in empty fragments without end',
      () => [
        frame('[', { fin: false }),
        ...Array.from({ length: 5000 }, () => frame('', { fin: false, opcode: opcodes.continuation })),
      ],
      1008,
    ],
    [
      'with endless pongs between its fragments',
      () => [
        frame('[', { fin: false }),
        ...Array.from({ length: 20_000 }, () => frame('p'.repeat(120), { opcode: opcodes.pong })),
      ],
      1008,
    ],
    ['of control in fragments', () => [frame('p', { opcode: opcodes.ping, fin: false })], 1002],
    ['of control with 126 bytes', () => [frame('p'.repeat(126), { opcode: opcodes.ping })], 1002],
    ['of close with one byte', () => [frame('c', { opcode: opcodes.close })], 1002],
    [
      'of close with a code that no client may send',
      () => [frame(Buffer.from([3, 237]), { opcode: opcodes.close })],
      1002,
    ],
    [
      'of close with invalid UTF-8',
      () => [frame(Buffer.from([3, 232, 0xff]), { opcode: opcodes.close })],
      1007,
    ],
  ])('%s ends its connection with a code', async (_, frames, code) => {
    const { send, closed } = await open()
    send(...frames())
    expect(await closed()).toBe(code)
    await expectServed()
  })

  it.each<[what: string, text: string, error: number]>([
    ['that is no JSON', 'nope', -32700],
    ['that is empty', '', -32700],
    ['with 100,000 brackets', '['.repeat(100_000), -32013],
    ['with 101 calls', `[${Array.from({ length: 101 }, () => getMe).join()}]`, -32013],
    ['of an array without calls', '[]', -32600],
    [
      'of 1 MiB for a method that reads no more than 64 KiB',
      `${getMe}${' '.repeat(1024 * 1024 - getMe.length)}`,
      -32013,
    ],
  ])('%s is answered with an error, and the connection stays', async (_, text, error) => {
    const { send, next } = await open()
    send(frame(text), frame(getMe))
    expect(JSON.parse((await next())!.content.toString())).toMatchObject({ error: { code: error } })
    expect((await next())?.content.toString()).toContain('"nodeId"')
  })

  it('with 100 calls is answered', async () => {
    const { send, next } = await open()
    send(
      frame(
        `[${Array.from({ length: 100 }, (_, id) => `{"jsonrpc":"2.0","method":"getMe","id":${id}}`).join()}]`,
      ),
    )
    const answers = JSON.parse((await next())!.content.toString())
    expect(answers.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 100 }, (_, id) => id))
  })

  it('in as many fragments as allowed, with a ping in between, is answered', async () => {
    const { send, next } = await open()
    const [first, ...rest] = [...getMe]
    send(frame(first!, { fin: false }))
    send(...rest.map((each) => frame(each, { fin: false, opcode: opcodes.continuation })))
    send(frame('here', { opcode: opcodes.ping }))
    send(...Array.from({ length: 800 }, () => frame('', { fin: false, opcode: opcodes.continuation })))
    send(frame('', { opcode: opcodes.continuation }))
    expect(await next()).toMatchObject({ opcode: opcodes.pong, content: Buffer.from('here') })
    expect((await next())?.content.toString()).toContain('"nodeId"')
  })
})

describe('a flood', () => {
  it('of 10,000 tiny calls is answered, and others are served meanwhile', async () => {
    const { send, next } = await open()
    send(...Array.from({ length: 10_000 }, () => frame(getMe)))
    await expectServed()
    for (let at = 0; at < 10_000; at++) expect((await next())?.opcode).toBe(opcodes.text)
  })

  it('of 10,000 messages without meaning is answered, and others are served meanwhile', async () => {
    const { send, next } = await open()
    send(...Array.from({ length: 10_000 }, () => frame('1')))
    await expectServed()
    for (let at = 0; at < 10_000; at++) expect((await next())?.content.toString()).toContain('-32600')
  })

  it.each([
    ['pings', opcodes.ping],
    ['pongs', opcodes.pong],
  ])('of %s leaves the memory as it is, also if the answers are not read', async (_, opcode) => {
    const before = await memoryMb()
    const flood = Buffer.concat(Array.from({ length: 1000 }, () => frame('p'.repeat(125), { opcode })))
    const floods = await Promise.all(Array.from({ length: 10 }, () => open({ unread: true })))
    for (const { socket } of floods) {
      socket.pause()
      for (let at = 0; at < 50; at++) socket.write(flood)
    }
    await expectServed()
    expect((await memoryMb()) - before).toBeLessThan(maxMb)
    await expectServed()
  })
})

describe('large messages', () => {
  it('of all connections that a client may have use a bounded part of the memory, and others are served', async () => {
    const before = await memoryMb()
    const large = frame(`[${Array.from({ length: 100 }, () => getMe).join()}]`.padEnd(1024 * 1024))
    const forgetPeak = () => writeFileSync(`/proc/${runtime.process.pid}/clear_refs`, '5')
    forgetPeak()
    const all = await Promise.all(Array.from({ length: 64 }, () => open()))
    for (const { socket } of all) for (let at = 0; at < 16; at++) socket.write(large)
    for (let at = 0; at < 10; at++) await expectServed()
    // Without a limit, more than 1,000 MB were measured.
    expect(peakMb(runtime.process.pid!) - before).toBeLessThan(400)
  })
})

describe('a client that never reads', () => {
  it('holds little memory, whatever it calls', async () => {
    const before = await memoryMb()
    const large = frame(`[${Array.from({ length: 100 }, () => discover).join()}]`)
    const readers = await Promise.all(Array.from({ length: 30 }, () => open({ unread: true })))
    for (const { socket } of readers) {
      socket.pause()
      for (let at = 0; at < 200; at++) socket.write(large)
    }
    for (let at = 0; at < 20; at++) await expectServed()
    expect((await memoryMb()) - before).toBeLessThan(maxMb)
  })
})

describe('a handshake', () => {
  const without =
    (name: string, ...added: readonly string[]) =>
    (host: string) => [...handshakeLines(host).filter((line) => !line.startsWith(`${name}:`)), ...added]
  it.each<[what: string, options: OpenOptions, status: number]>([
    ['of a foreign page', { lines: without('', 'Origin: http://evil.example') }, 403],
    ['of a page without an origin', { lines: without('', 'Origin: null') }, 403],
    ['of a foreign host', { lines: without('Host', 'Host: evil.example') }, 403],
    ['with two hosts', { lines: without('', 'Host: localhost') }, 400],
    ['with two origins', { lines: without('', 'Origin: http://a', 'Origin: http://b') }, 400],
    [
      'with two Authorization headers',
      { lines: without('', 'Authorization: Bearer a', 'Authorization: Bearer b') },
      400,
    ],
    ['with a foreign referrer', { lines: without('', 'Referer: http://evil.example/') }, 403],
    ['of another site', { lines: without('', 'Sec-Fetch-Site: cross-site') }, 403],
    [
      'of version 8, which names its origin elsewhere',
      {
        lines: without(
          'Sec-WebSocket-Version',
          'Sec-WebSocket-Version: 8',
          'Sec-WebSocket-Origin: http://evil.example',
        ),
      },
      426,
    ],
    ['of version 14', { lines: without('Sec-WebSocket-Version', 'Sec-WebSocket-Version: 14') }, 426],
    ['without a version', { lines: without('Sec-WebSocket-Version') }, 426],
    ['of two versions', { lines: without('', 'Sec-WebSocket-Version: 8') }, 426],
    ['without a key', { lines: without('Sec-WebSocket-Key') }, 400],
    ['with a key that is too short', { lines: without('Sec-WebSocket-Key', 'Sec-WebSocket-Key: AAAA') }, 400],
    ['with two keys', { lines: without('', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==') }, 400],
    ['with a broken protocol', { lines: without('', 'Sec-WebSocket-Protocol: ,,\u00ff') }, 400],
    [
      'with too many protocols',
      { lines: without('', `Sec-WebSocket-Protocol: ${'a,'.repeat(10_000)}b`) },
      431,
    ],
    ['with a body', { lines: without('', 'Content-Length: 5'), behind: Buffer.from('hello') }, 405],
    [
      'with a chunked body',
      { lines: without('', 'Transfer-Encoding: chunked'), behind: Buffer.from('0\r\n\r\n') },
      405,
    ],
    ['of another method', { start: `POST ${rpcPath} HTTP/1.1` }, 415],
    ['of HTTP/1.0', { start: `GET ${rpcPath} HTTP/1.0` }, 405],
    ['at another path', { path: `${rpcPath}//` }, 404],
    ['with a token in the URL', { path: `${rpcPath}?token=secret` }, 404],
    ['beside the former path', { path: '/ws/edge-service-api/v2' }, 404],
  ])('%s is refused', async (_, options, status) => {
    expect((await open(options)).status).toBe(status)
  })

  it.each([rpcPath, formerSocketPath])(
    'of a page of this origin is refused at %s: services have pages as well',
    async (path) => {
      const { host } = new URL(runtime.url)
      const { status, head } = await open({ path, lines: without('', `Origin: http://${host}`) })
      expect(status).toBe(403)
      expect(head).toContain('foreign_page')
    },
  )

  it.each([
    'permessage-deflate',
    'permessage-deflate; client_max_window_bits=15; server_no_context_takeover',
    'permessage-deflate; server_max_window_bits=99',
    'x-webkit-deflate-frame, bbf-usp-protocol',
    ',,;;==',
  ])('gets no extension, whatever it offers: %s', async (offer) => {
    const { head, status, send, next } = await open({
      lines: without('', `Sec-WebSocket-Extensions: ${offer}`),
    })
    expect(status).toBe(101)
    expect(head.toLowerCase()).not.toContain('extensions')
    send(frame(getMe))
    expect((await next())?.content.toString()).toContain('"nodeId"')
  })

  it('gets no protocol, whatever it offers', async () => {
    const { head, status } = await open({ lines: without('', 'Sec-WebSocket-Protocol: __proto__, jsonrpc') })
    expect(status).toBe(101)
    expect(head.toLowerCase()).not.toContain('protocol: ')
  })

  it('may be followed by calls at once', async () => {
    const { next } = await open({ behind: Buffer.concat([frame(getMe), frame(getMe)]) })
    for (let at = 0; at < 2; at++) expect((await next())?.content.toString()).toContain('"nodeId"')
  })

  it('that is followed by another request instead of frames ends', async () => {
    const { closed } = await open({
      behind: Buffer.from(`GET / HTTP/1.1\r\nHost: ${new URL(runtime.url).host}\r\n\r\n`),
    })
    expect(await closed()).toBe(1002)
  })

  it('behind a call that is not answered yet ends the connection, and behind an answered one does not', async () => {
    const { host } = new URL(runtime.url)
    const post = (body: string) =>
      `POST ${rpcPath} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const handshake = `GET ${rpcPath} HTTP/1.1\r\n${handshakeLines(host).join('\r\n')}\r\n\r\n`
    const late = connect(address())
    let text = ''
    late.setEncoding('latin1').on('data', (piece) => {
      text += piece
    })
    late.write(post('{"jsonrpc":"2.0","method":"getEdgeIdToken","id":1}') + handshake)
    await once(late, 'close')
    expect(text).not.toContain('101 Switching')
    const patient = connect(address())
    patient.write(post(getMe))
    await once(patient, 'data')
    patient.write(handshake)
    expect(String((await once(patient, 'data'))[0])).toContain('101 Switching')
    patient.destroy()
    await expectServed()
  })

  it('that never comes to its end holds nothing but its connection', async () => {
    const slow = Array.from({ length: 50 }, () => {
      const socket = connect(address())
      socket.write(`GET ${rpcPath} HTTP/1.1\r\nHost: `)
      socket.on('error', () => undefined)
      return socket
    })
    await expectServed()
    for (const socket of slow) socket.destroy()
  })
})

describe('many connections', () => {
  it('1,000 without a token leave 64, and others are served', async () => {
    const before = await memoryMb()
    let ended = 0
    let open101 = 0
    for (let at = 0; at < 1000; at++) {
      const each = await open()
      if (each.status === 101) open101++
      each.socket.once('close', () => ended++)
    }
    expect(open101).toBe(1000)
    await expect.poll(() => ended).toBe(936)
    expect((await memoryMb()) - before).toBeLessThan(maxMb)
    await expectServed()
  })

  it('that end in the middle of a call, of a frame or of a handshake leave nothing', async () => {
    const before = await memoryMb()
    for (let at = 0; at < 200; at++) {
      const call = await open({ behind: frame('{"jsonrpc":"2.0","method":"getEdgeIdToken","id":1}') })
      call.socket.destroy()
      const half = await open({ behind: frame(getMe).subarray(0, 20) })
      if (at % 2) half.socket.resetAndDestroy()
      else half.socket.end()
      const socket = connect(address())
      await once(socket, 'connect')
      socket.write(`GET ${rpcPath} HTTP/1.1\r\nHost:`)
      socket.destroy()
    }
    await expectServed()
    expect((await memoryMb()) - before).toBeLessThan(maxMb)
  })

  it('that close in one direction only end', async () => {
    const { socket, send, next } = await open()
    send(frame(getMe))
    expect((await next())?.opcode).toBe(opcodes.text)
    socket.end()
    await once(socket, 'close')
  })
})
