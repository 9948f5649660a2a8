/** What a hostile function would try with its connections, with the socket that they pass, and with the handles below the modules of Node.js. */
import type { Escape } from './escapes.ts'

const denied =
  /NotCapable|PermissionDenied|EACCES|EPERM|not permitted|Requires|not a function|undefined|not supported/
const sandbox = 'language permissions'
const runtime = 'the runtime'

/** Sends a request of its own making to its host socket, and gives the beginning of the answer. */
const raw = (request: string): string =>
  `const line = await Deno.connect({ transport: "unix", path: Deno.args[2] })
  await line.write(new TextEncoder().encode(${JSON.stringify(request)}))
  const answer = new Uint8Array(4096); const count = await line.read(answer)
  return new TextDecoder().decode(answer.subarray(0, count ?? 0)) || "closed"`

/** A CONNECT request for a target, as the platform’s own program would never write it. */
const forged = (name: string, target: string, answer: RegExp, env?: Record<string, string>): Escape => ({
  name: `connect to ${name}`,
  stoppedBy: runtime,
  attempt: raw(`CONNECT ${target} HTTP/1.1\r\nHost: a\r\n\r\n`),
  answer,
  ...(env && { env }),
})

const thisDevice = /403 [\s\S]*is this device, which functions call with fetch/
const noTarget = /403 [\s\S]*is not a host and a port|400 Bad Request|closed/
const notListed = /403 [\s\S]*is not listed in MCM\.OUTBOUND/

const inNode = (name: string, attempt: string, answer: RegExp, env?: Record<string, string>): Escape => ({
  name,
  stoppedBy: sandbox,
  attempt,
  answer,
  ...(env && { env }),
})

/** The same for an attempt that leaves modules changed. */
const spoiling = (...attempt: Parameters<typeof inNode>): Escape => ({ ...inNode(...attempt), spoils: true })

/** The body of an attempt that waits for an event or an error of a socket. */
const event = (made: string, ready: string): string =>
  `return new Promise((resolve) => { try { const it = ${made}; it.on("error", (e) => resolve(e.name + ": " + e.message)); it.on("${ready}", () => resolve("${ready}")) } catch (e) { resolve(e.name + ": " + e.message) } })`

export const socketEscapes: readonly Escape[] = [
  forged('the runtime', '127.0.0.1:PORT', thisDevice),
  forged('the runtime by a name', 'localhost:PORT', thisDevice),
  forged('the runtime in octal', '0177.0.0.1:PORT', thisDevice),
  forged('the runtime as one number', '2130706433:PORT', thisDevice),
  forged('the runtime in hexadecimal', '0x7f.1:PORT', thisDevice),
  forged('the runtime over IPv6', '[::1]:PORT', thisDevice),
  forged('the runtime as a mapped address', '[::ffff:127.0.0.1]:PORT', thisDevice),
  forged('the runtime at no address', '0.0.0.0:PORT', thisDevice),
  forged('another port of the loopback', '127.0.0.1:1', notListed),
  forged('a name with a dot at its end', 'localhost.:1', notListed, { 'MCM.OUTBOUND': 'localhost:1' }),
  forged('port 0', '127.0.0.1:0', noTarget),
  forged('port 65536', '127.0.0.1:65536', noTarget),
  forged('a port that wraps around', '127.0.0.1:65617', noTarget),
  forged('a host with a user name', 'a:b@127.0.0.1:1', noTarget, { 'MCM.OUTBOUND': '127.0.0.1:1' }),
  forged('a URL', 'http://127.0.0.1:1/', noTarget, { 'MCM.OUTBOUND': '127.0.0.1:1' }),
  forged('a host with a line break', '127.0.0.1\r\nX-Selvedge-Target: x\r\n:1', noTarget),
  forged('a zone of a link', '[fe80::1%lo]:1', noTarget),
  forged('the metadata address', '169.254.169.254:80', /403 [\s\S]*services never reach/, {
    'MCM.OUTBOUND': '169.254.169.254',
  }),
  forged('a name that leads inside', 'localhost:1', /403 [\s\S]*which is not public/, {
    'MCM.OUTBOUND': 'localhost:1',
  }),
  {
    name: 'let the header Host decide where a connection leads',
    stoppedBy: runtime,
    attempt: raw('CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:2\r\n\r\n'),
    answer: notListed,
    env: { 'MCM.OUTBOUND': '127.0.0.1:2' },
  },
  {
    name: 'put a request for a connection behind another request',
    stoppedBy: runtime,
    attempt: raw(
      'GET / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n',
    ),
    answer: /^(?:HTTP\/1\.1 (?:4|5)\d\d |closed)(?![\s\S]*"status":"ok")/,
  },
  inNode(
    'change something at the path of its socket',
    `const path = Deno.args[2]; const fs = await import("node:fs"); const done = []
      const before = JSON.stringify([Deno.lstatSync(path).ino, Deno.lstatSync(path).mode])
      for (const change of [() => Deno.removeSync(path), () => Deno.renameSync(path, path + "2"), () => Deno.mkdirSync(path), () => Deno.mkdirSync(path + "/x"),
        () => Deno.writeTextFileSync(path, "x"), () => Deno.truncateSync(path), () => Deno.symlinkSync("/etc", path), () => Deno.linkSync("/etc/passwd", path),
        () => Deno.copyFileSync("/etc/passwd", path), () => fs.openSync(path, "w+"), () => Deno.listen({ transport: "unix", path })])
        try { change(); done.push(String(change)) } catch {}
      return "changed " + done.join() + (JSON.stringify([Deno.lstatSync(path).ino, Deno.lstatSync(path).mode]) === before)`,
    /^changed true$/,
  ),
  inNode(
    'read what is at the path of its socket',
    'return Deno.readTextFileSync(Deno.args[2])',
    /ENXIO|No such device|os error 6|Error/,
  ),
  inNode(
    'connect to its host socket through node:net',
    `const net = await import("node:net"); ${event('net.connect(Deno.args[2])', 'connect')}`,
    /EACCES[\s\S]*no Unix sockets/,
  ),
  inNode(
    'send a request to its host socket through node:http',
    `const http = await import("node:http"); ${event('http.get({ socketPath: Deno.args[2], path: "/" })', 'response')}`,
    /EACCES[\s\S]*no Unix sockets/,
  ),
  inNode(
    'connect with TLS to a Unix socket',
    `const tls = await import("node:tls"); ${event('tls.connect({ path: Deno.args[2] })', 'secureConnect')}`,
    /EACCES[\s\S]*no Unix sockets/,
  ),
  inNode(
    'connect with the handle below a TLS socket',
    `const tls = await import("node:tls"); const { _parent: handle } = new tls.TLSSocket()._handle
      return await new Promise((resolve) => { try { const status = handle.connect({ oncomplete: (code) => resolve("completed " + code) }, "127.0.0.1", Number(PORT)); setTimeout(() => resolve("status " + status), 500) } catch (e) { resolve(e.name + ": " + e.message) } })`,
    /NotCapable|completed -|status -|Error/,
  ),
  inNode(
    'connect with the binding of the platform',
    `const { TCP, TCPConnectWrap } = process.binding("tcp_wrap"); const it = new TCP(0); const req = new TCPConnectWrap()
      return await new Promise((resolve) => { req.oncomplete = (code) => resolve("completed " + code); const status = it.connect(req, "127.0.0.1", Number(PORT)); if (status) resolve("status " + status) })`,
    /NotCapable|completed -|status -|Error/,
  ),
  inNode(
    'bind a port with a handle of node:net',
    `const net = await import("node:net"); const handle = net._createServerHandle("127.0.0.1", 0, 4)
      return typeof handle === "number" ? "status " + handle : "listen " + handle.listen(1)`,
    /NotCapable|status -|listen -|Error/,
  ),
  inNode(
    'connect with the operations below Deno',
    `const { core } = Deno[Deno.internal]
      return JSON.stringify(await core.ops.op_net_connect_tcp({ hostname: "127.0.0.1", port: Number(PORT) }, undefined))`,
    /NotCapable|not a function|undefined|Error/,
  ),
  inNode(
    'connect in a worker thread, where nothing is replaced',
    `const { Worker } = await import("node:worker_threads")
      const code = "const { parentPort } = require('node:worker_threads'); const s = require('node:net').connect(" + PORT + ", '127.0.0.1'); s.on('error', (e) => parentPort.postMessage(e.name + e.message)); s.on('connect', () => parentPort.postMessage('connected'))"
      return await new Promise((resolve) => { const it = new Worker(code, { eval: true }); it.on("message", resolve); it.on("error", (e) => resolve(e.name + ": " + e.message)); it.on("exit", () => resolve("exited: undefined")) })`,
    denied,
  ),
  spoiling(
    'put back what connects through the runtime',
    `const net = await import("node:net"); const own = net.Socket.prototype.connect; delete net.Socket.prototype.connect
      net.Socket.prototype.connect ??= Object.getPrototypeOf(net.Socket.prototype).connect; net.Socket.prototype.connect ??= own
      ${event('net.connect(Number(PORT), "127.0.0.1")', 'connect')}`,
    denied,
  ),
  {
    name: 'connect to a virtual machine socket',
    stoppedBy: sandbox,
    attempt: 'await Deno.connect({ transport: "vsock", cid: 2, port: 1 }); return "connected"',
    answer: [502],
    history: /--unstable-vsock/,
  },
  inNode(
    'send a datagram to its host socket',
    'const it = Deno.listenDatagram({ transport: "unixpacket", path: Deno.args[2] }); return "listening"',
    /NotCapable|not a function|AddrInUse|Error/,
  ),
  inNode(
    'use a proxy of its own choice',
    'const client = Deno.createHttpClient({ proxy: { url: "http://127.0.0.1:PORT" } }); return (await Deno.fetch?.("http://127.0.0.1:PORT/", { client }) ?? await fetch("http://127.0.0.1:1/", { client })).status',
    /NotCapable|not listed|Error/,
  ),
  inNode(
    'use a socket of the device as its proxy',
    'Deno.createHttpClient({ proxy: { transport: "unix", path: "STATE/runtime.sock" } }); return "made"',
    /NotCapable/,
  ),
  inNode(
    'look up a service by DNS',
    `const { promises } = await import("node:dns"); const name = "_x._tcp.localhost"
      return await promises.resolveSrv(name).catch((e) => e.code) + " " + await Deno.resolveDns(name, "SRV", { nameServer: { ipAddr: "127.0.0.1" } }).catch((e) => e.name)`,
    /^UNKNOWN NotCapable$/,
  ),
  inNode(
    'trace itself into a file',
    'const { createTracing } = await import("node:trace_events"); createTracing({ categories: ["node"] }).enable(); return "enabled " + [...Deno.readDirSync("/")].length',
    /NotCapable|not implemented|Error/,
  ),
  inNode(
    'read a file from code that it compiles',
    'const vm = await import("node:vm"); return vm.runInThisContext(\'Deno.readTextFileSync("/etc/passwd")\')',
    denied,
  ),
  inNode(
    'connect to the runtime with connect()',
    'const it = connect("127.0.0.1:" + PORT); await it.opened; return "opened"',
    /EACCES[\s\S]*is this device, which functions call with fetch/,
  ),
]
