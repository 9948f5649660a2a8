/** Functions that do harm in the background, as soon as and as long as they run. Each is bounded by its settings. */

const worker = (begin: string, answer = 'new Response("ok")') => `
let begun = false
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const random = (n) => Math.floor(Math.random() * n)
export default {
  async fetch(request, env, context) {
    if (!begun) {
      begun = true
      const run = async () => { ${begin} }
      run().catch(() => undefined)
    }
    return ${answer}
  },
}`

const garbage = `
const text = [
  'null\\n', '[]\\n', '{"write":1}\\n', '{"pong":"x"}\\n', '{"ready":true}\\n', 'x'.repeat(300000), '\\n'.repeat(5000),
  '{"write":1,"change":{"remove":' + JSON.stringify(Array(5000).fill('k')) + '}}\\n', '['.repeat(20000) + '\\n',
  '{"write":1,"change":{"set":{"__proto__":"x","a":"' + 'y'.repeat(200000) + '"}}}\\n',
]
const bytes = () => {
  const piece = new TextEncoder().encode(text[random(text.length)])
  const head = new Uint8Array(8)
  crypto.getRandomValues(head)
  return random(2) ? piece : new Uint8Array([...head, ...piece.subarray(0, 1000)])
}`

/** Names, sources and settings. */
export const hostileFunctions: readonly { name: string; source: string; env?: Record<string, string> }[] = [
  {
    name: 'storage',
    source: worker(`
      for (;;) {
        try {
          for (let at = 0; at < 20; at++) context.storage.setItem('k' + random(3000), 'x'.repeat(random(20000)))
          for (let at = 0; at < 5; at++) context.storage.removeItem('k' + random(3000))
        } catch {
          for (let at = 0; at < 3000; at++) context.storage.removeItem('k' + at)
        }
        await sleep(100)
      }`),
  },
  {
    name: 'line',
    source: worker(`${garbage}
      const net = await import('node:net')
      for (;;) {
        for (let fd = 3; fd < 12; fd++) {
          try { new net.Socket({ fd }).on('error', () => undefined).write(bytes()) } catch {}
        }
        try {
          const line = await Deno.connect({ transport: 'unix', path: '/instance/control' })
          await line.write(bytes())
        } catch {}
        await sleep(200)
      }`),
  },
  {
    name: 'logs',
    source: worker(`
      for (;;) {
        for (let at = 0; at < 40; at++) console.log('x'.repeat(random(3000)) + '\\u001b]52;c;eA==\\u0007' + at)
        await sleep(100)
      }`),
  },
  { name: 'cpu', source: worker('await sleep(500); for (;;);'), env: { 'MCM.MAX_EXECUTION_TIME_SEC': '2' } },
  {
    name: 'memory',
    source: worker(`const kept = []; for (;;) { kept.push(new Uint8Array(4e6).fill(1)); await sleep(50) }`),
  },
  {
    name: 'fetches',
    source: worker(`
      const urls = ['http://localhost:8083/jsonrpc/v1', 'http://localhost:8083/mcm/v1/images', 'http://127.0.0.1:1/', 'http://runtime.invalid/runtime/v1/identity-token', 'http://[::1]:1/', 'http://10.0.0.1/', 'nonsense:']
      for (;;) {
        for (let at = 0; at < 10; at++) {
          fetch(urls[random(urls.length)], { method: 'POST', body: ['null', '[]', '{"audience":1}', '{'][random(4)] }).catch(() => undefined)
          context.identityToken(random(2) ? 'nobody' : null).catch(() => undefined)
        }
        await sleep(200)
      }`),
  },
  { name: 'crash', source: worker('await sleep(100 + random(500)); Deno.exit(random(3))') },
  {
    name: 'answers',
    source: worker(
      '',
      `[
        () => new Response('x', { headers: { x: 'a' + ' '.repeat(60000) + 'b' } }),
        () => new Response('x', { headers: Object.fromEntries(Array.from({ length: 500 }, (_, at) => ['x-' + at, 'y'.repeat(50)])) }),
        () => new Response(new Uint8Array(2e6)),
        () => new Response(new ReadableStream({ async pull(to) { await sleep(200); to.enqueue(new Uint8Array(10)) } })),
        () => { throw new Error('no answer') },
        () => new Response(null, { status: 204, headers: { connection: 'x-selvedge-account', 'transfer-encoding': 'x' } }),
      ][random(6)]()`,
    ),
    env: { 'MCM.MAX_EXECUTION_TIME_SEC': '3' },
  },
]

/** Answers and WebSockets without an end, of which the function itself keeps little: its memory is limited. */
export const pouringFunction = `
const text = 'x'.repeat(100_000)
export default { fetch(request) {
  if (new URL(request.url).pathname !== '/socket') return new Response(new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65536)) }))
  const { socket, response } = Deno.upgradeWebSocket(request)
  let timer
  socket.onopen = () => {
    timer = setInterval(() => { for (let at = 0; at < 20 && socket.bufferedAmount < 500_000; at++) socket.send(text) }, 5)
  }
  socket.onclose = () => clearInterval(timer)
  return response
} }`

/** What every hostile function may use at most. */
export const hostileSettings = {
  'MCM.CPU': '0.1',
  'MCM.MEMORY_MB': '64',
  'MCM.STORAGE_MB': '4',
  'MCM.IDLE_SEC': '0',
}

export const goodFunction = 'export default { fetch() { return new Response("hello") } }'
