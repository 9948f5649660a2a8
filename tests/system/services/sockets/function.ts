/**
 * The function of the tests of connections: it opens one with `connect()`, `node:net`, `node:tls` or TLS over an open connection, and answers with
 * what it saw. Each way has the same members: `read()` gives the next bytes or null, `write` resolves when the bytes are accepted.
 */
export const kinds = ['connect', 'net', 'connect-tls', 'starttls', 'tls', 'tls-over-net'] as const
export type Kind = (typeof kinds)[number]

export const isEncrypted = (kind: Kind): boolean => kind.includes('tls')

export const source = `
import net from 'node:net'
import tls from 'node:tls'
import { once } from 'node:events'
import { createHash } from 'node:crypto'

const held = new Map()
const encode = (text) => new TextEncoder().encode(text)
const hostOf = (url) => ({ hostname: url.searchParams.get('host') ?? '127.0.0.1', port: Number(url.searchParams.get('port')) })

function ofWeb(socket) {
  const reader = socket.readable.getReader()
  const writer = socket.writable.getWriter()
  return {
    opened: socket.opened, closed: socket.closed, socket,
    read: async () => { const { value, done } = await reader.read(); return done ? null : value },
    write: (bytes) => writer.write(bytes), end: () => writer.close(), destroy: () => socket.close(),
  }
}

function ofNode(socket, ready) {
  const events = []
  for (const name of ['lookup', 'connect', 'ready', 'secureConnect', 'end', 'finish', 'error', 'close', 'timeout'])
    socket.on(name, () => events.push(name))
  const opened = once(socket, ready)
  opened.catch(() => {})
  const closed = new Promise((resolve, reject) => { let failure; socket.on('error', (e) => { failure = e }); socket.on('close', () => failure ? reject(failure) : resolve()) })
  closed.catch(() => {})
  return {
    opened, closed, socket, events,
    async read() {
      for (;;) {
        const bytes = socket.read()
        if (bytes !== null) return bytes
        if (socket.readableEnded) return null
        if (socket.errored) throw socket.errored
        if (socket.destroyed) return null
        await new Promise((resolve) => {
          const done = () => { for (const name of ['readable', 'end', 'close', 'error']) socket.off(name, done); resolve() }
          for (const name of ['readable', 'end', 'close', 'error']) socket.on(name, done)
        })
      }
    },
    write: (bytes) => new Promise((resolve, reject) => socket.write(bytes, (e) => e ? reject(e) : resolve())),
    end: () => new Promise((resolve) => socket.end(resolve)), destroy: () => socket.destroy(),
  }
}

async function dial(kind, { hostname, port }, more = {}) {
  const insecure = { rejectUnauthorized: false }
  if (kind === 'connect') return ofWeb(connect({ hostname, port }, { allowHalfOpen: true }))
  if (kind === 'net') return ofNode(net.connect({ host: hostname, port, allowHalfOpen: true, ...more }), 'connect')
  if (kind === 'tls') return ofNode(tls.connect({ host: hostname, port, allowHalfOpen: true, ...insecure, ...more }), 'secureConnect')
  if (kind === 'tls-over-net') {
    const socket = net.connect({ host: hostname, port, allowHalfOpen: true })
    await once(socket, 'connect')
    return ofNode(tls.connect({ socket, allowHalfOpen: true, ...insecure, ...more }), 'secureConnect')
  }
  // Its certificate is trusted: this way has no option to ignore that.
  if (kind === 'connect-tls') return ofWeb(connect({ hostname, port }, { secureTransport: 'on', allowHalfOpen: true }))
  const plain = connect({ hostname, port }, { secureTransport: 'starttls', allowHalfOpen: true })
  await plain.opened
  return ofWeb(plain.startTls())
}

const actions = {
  async echo(line) {
    await line.opened
    await line.write(encode('hello'))
    let text = ''
    while (text.length < 5) text += new TextDecoder().decode(await line.read())
    await line.end()
    const last = await line.read()
    await line.destroy()
    await line.closed.catch(() => {})
    return { text, last, events: line.events }
  },
  async refused(line) {
    const error = await line.opened.then(() => ({ message: 'opened' }), (e) => e)
    const closed = await line.closed.then(() => 'closed', (e) => e.code)
    return { name: error.name, code: error.code, message: error.message, closed, events: line.events }
  },
  async readAll(line) {
    await line.opened
    let text = ''
    try { for (let bytes = await line.read(); bytes; bytes = await line.read()) text += new TextDecoder().decode(bytes) }
    catch (e) { return { text, code: e.code } }
    await line.write(encode('after your end'))
    await line.end()
    return { text }
  },
  async askAndEnd(line) {
    await line.opened
    await line.write(encode('question'))
    await line.end()
    let text = ''
    for (let bytes = await line.read(); bytes; bytes = await line.read()) text += new TextDecoder().decode(bytes)
    return { text }
  },
  async transfer(line, url) {
    await line.opened
    const total = Number(url.searchParams.get('bytes'))
    const piece = new Uint8Array(65536)
    const sent = createHash('sha256'), got = createHash('sha256')
    const send = async () => {
      for (let at = 0; at < total; at += piece.length) {
        piece.fill((at / piece.length) % 251)
        sent.update(piece)
        await line.write(piece)
      }
      await line.end()
    }
    let count = 0
    const receive = async () => { while (count < total) { const bytes = await line.read(); if (!bytes) break; count += bytes.length; got.update(bytes) } }
    await Promise.all([send(), receive()])
    line.destroy()
    return { count, isSame: sent.digest('hex') === got.digest('hex') }
  },
  async fill(line) {
    await line.opened
    const piece = new Uint8Array(65536)
    await line.write(piece)
    let accepted = piece.length
    const write = async () => { while (accepted < 200_000_000) { await line.write(piece); accepted += piece.length } }
    write().catch(() => {})
    for (let last = -1; last !== accepted;) { last = accepted; await new Promise((r) => setTimeout(r, 300)) }
    line.destroy()
    return { accepted }
  },
  async keep(line, url) {
    await line.opened
    held.set(url.searchParams.get('name'), line)
    return {}
  },
  async drop() {
    for (const each of held.values()) each.destroy()
    held.clear()
    return {}
  },
  async many(_, url) {
    const { hostname, port } = hostOf(url)
    const lines = Array.from({ length: Number(url.searchParams.get('count')) }, () => net.connect({ host: hostname, port }))
    const counts = {}
    await Promise.all(lines.map((each) => new Promise((resolve) => {
      const note = (what) => { counts[what] = (counts[what] ?? 0) + 1; resolve() }
      each.once('connect', () => note('open')).once('error', (e) => note(e.code))
    })))
    await Promise.all(lines.map((each) => new Promise((resolve) => { if (each.closed) resolve(); else { each.once('close', resolve); each.destroy() } })))
    return counts
  },
  async abort(line) {
    await line.opened
    line.destroy()
    await line.closed
    return { events: line.events }
  },
}

export default {
  async fetch(request) {
    const url = new URL(request.url)
    const [, action, kind] = url.pathname.split('/').slice(-3)
    if (action === 'alive') return new Response('alive')
    try {
      const line = kind === 'idle' ? undefined : await dial(kind, hostOf(url))
      return Response.json(await actions[action](line, url))
    } catch (error) {
      return Response.json({ failed: error.name + ': ' + error.message, code: error.code, stack: error.stack })
    }
  },
}
`
