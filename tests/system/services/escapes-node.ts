/** What a hostile function would try with the modules of Node.js and with `process`, beside what it has without them. */
import type { Escape } from './escapes.ts'

const denied = /NotCapable|PermissionDenied|EACCES|EPERM|not permitted|Requires/
const sandbox = 'language permissions'
/** The body of an attempt that listens: the platform throws the refusal outside of it. */
const listening = (made: string): string =>
  `const server = ${made}; server.on("error", () => undefined); await new Promise((r) => setTimeout(r, 500)); return "address " + JSON.stringify(server.address())`
/** The body of an attempt that waits for an event or an error of something. */
const event = (made: string, ready: string): string =>
  `return new Promise((resolve) => { try { const it = ${made}; it.on("error", (e) => resolve(e.name + ": " + e.message)); it.on("${ready}", () => resolve("${ready}")) } catch (e) { resolve(e.name + ": " + e.message) } })`

export const nodeEscapes: readonly Escape[] = [
  {
    name: 'require a file',
    stoppedBy: sandbox,
    attempt:
      'const { createRequire } = await import("node:module"); return String(createRequire("file:///x")("/etc/hostname.json"))',
    answer: denied,
  },
  {
    name: 'find a file by module resolution',
    stoppedBy: sandbox,
    attempt:
      'const { createRequire } = await import("node:module"); return createRequire("file:///").resolve("/etc/passwd")',
    answer: denied,
  },
  {
    name: 'read a file through node:fs/promises',
    stoppedBy: sandbox,
    attempt: 'return (await import("node:fs/promises")).readFile("/etc/passwd", "utf8")',
    answer: denied,
  },
  {
    name: 'read a file as a stream',
    stoppedBy: sandbox,
    attempt: `const fs = await import("node:fs"); ${event('fs.createReadStream("/etc/passwd")', 'open')}`,
    answer: denied,
  },
  {
    name: 'watch a folder',
    stoppedBy: sandbox,
    attempt: `const fs = await import("node:fs"); ${event('fs.watch("/etc")', 'change')}`,
    answer: denied,
  },
  {
    name: 'open a database file',
    stoppedBy: sandbox,
    attempt:
      'const { DatabaseSync } = await import("node:sqlite"); return String(new DatabaseSync("/etc/passwd"))',
    answer: denied,
  },
  {
    name: 'attach a database file to one in memory',
    stoppedBy: sandbox,
    attempt:
      'const { DatabaseSync } = await import("node:sqlite"); new DatabaseSync(":memory:").exec("ATTACH \'/tmp/x.db\' AS x"); return "attached"',
    answer: /denied|authorized|NotCapable|too many attached|prohibited/,
  },
  {
    name: 'load an extension into a database',
    stoppedBy: sandbox,
    attempt:
      'const { DatabaseSync } = await import("node:sqlite"); new DatabaseSync(":memory:", { allowExtension: true }).loadExtension("/lib/x"); return "loaded"',
    answer: denied,
  },
  {
    name: 'give folders to WebAssembly',
    stoppedBy: sandbox,
    attempt:
      'const { WASI } = await import("node:wasi"); return String(new WASI({ version: "preview1", preopens: { "/": "/etc" } }))',
    answer: /NotCapable|not implemented|not supported|Error/,
  },
  {
    name: 'open the inspector',
    spoils: true,
    stoppedBy: sandbox,
    attempt:
      'const inspector = await import("node:inspector"); inspector.open(0, "127.0.0.1"); return "open"',
    answer: denied,
  },
  {
    name: 'inspect itself',
    stoppedBy: sandbox,
    attempt:
      'const { Session } = await import("node:inspector"); new Session().connect(); return "connected"',
    answer: denied,
  },
  {
    name: 'get the platform out of another realm',
    stoppedBy: sandbox,
    attempt:
      'const vm = await import("node:vm"); return vm.runInNewContext("typeof Deno + typeof process + typeof require")',
    answer: /^undefinedundefinedundefined$/,
  },
  {
    name: 'read a file in a worker thread',
    stoppedBy: sandbox,
    attempt: `const { Worker } = await import("node:worker_threads")
      const code = "const { parentPort } = require('node:worker_threads'); try { parentPort.postMessage(require('node:fs').readFileSync('/etc/passwd', 'utf8')) } catch (e) { parentPort.postMessage(e.name) }"
      ${event('new Worker(code, { eval: true })', 'exit').replace('it.on("exit"', 'it.on("message", (text) => resolve(String(text))); it.on("exit"')}`,
    answer: denied,
  },
  {
    name: 'listen on a port',
    stoppedBy: sandbox,
    attempt: `const net = await import("node:net"); ${listening('net.createServer().listen(0, "127.0.0.1")')}`,
    answer: /^address null$/,
  },
  {
    name: 'listen on a port for HTTP',
    stoppedBy: sandbox,
    attempt: `const http = await import("node:http"); ${listening('http.createServer().listen(0, "127.0.0.1")')}`,
    answer: /^address null$/,
  },
  {
    name: 'listen on a Unix socket',
    stoppedBy: sandbox,
    attempt: `const net = await import("node:net"); ${event('net.createServer().listen("/tmp/x")', 'listening')}`,
    answer: denied,
  },
  {
    name: 'connect to the runtime’s port',
    stoppedBy: sandbox,
    attempt: `const net = await import("node:net"); ${event('net.connect(Number(PORT), "127.0.0.1")', 'connect')}`,
    answer: denied,
  },
  {
    name: 'connect to the runtime’s socket',
    stoppedBy: sandbox,
    attempt: `const net = await import("node:net"); ${event('net.connect("STATE/runtime/runtime.sock")', 'connect')}`,
    answer: denied,
  },
  {
    name: 'connect with TLS',
    stoppedBy: sandbox,
    attempt: `const tls = await import("node:tls"); ${event('tls.connect(Number(PORT), "127.0.0.1")', 'secureConnect')}`,
    answer: denied,
  },
  {
    name: 'ask the runtime through node:http',
    stoppedBy: sandbox,
    attempt: `const http = await import("node:http"); ${event('http.get("http://127.0.0.1:PORT/healthz")', 'response')}`,
    answer: denied,
  },
  {
    name: 'ask the runtime with HTTP/2',
    stoppedBy: sandbox,
    attempt: `const http2 = await import("node:http2"); ${event('http2.connect("http://127.0.0.1:PORT")', 'connect')}`,
    answer: denied,
  },
  {
    name: 'look a name up',
    stoppedBy: sandbox,
    attempt:
      'const dns = await import("node:dns"); return JSON.stringify(await dns.promises.lookup("localhost"))',
    answer: denied,
  },
  {
    name: 'send a datagram',
    stoppedBy: sandbox,
    attempt: `const dgram = await import("node:dgram"); addEventListener("error", () => undefined)
      const socket = dgram.createSocket("udp4"); return new Promise((resolve) => { setTimeout(() => resolve("nothing was sent: NotCapable"), 500); socket.on("error", (e) => resolve(e.name)); socket.send("x", Number(PORT), "127.0.0.1", (e) => e || resolve("sent")) })`,
    answer: denied,
  },
  {
    name: 'signal the runtime',
    stoppedBy: sandbox,
    attempt: 'process.kill(process.ppid, "SIGTERM"); return "sent"',
    answer: denied,
  },
  {
    name: 'become root',
    stoppedBy: sandbox,
    attempt: 'process.setuid(0); return "root"',
    answer: /NotCapable|not a function|EPERM|Requires|not permitted/,
  },
  {
    name: 'load its environment from a file',
    stoppedBy: sandbox,
    attempt: 'process.loadEnvFile("/proc/1/environ"); return JSON.stringify(process.env)',
    answer: denied,
  },
  {
    name: 'write a report',
    stoppedBy: sandbox,
    attempt: 'return String(process.report.writeReport("/tmp/r"))',
    // The platform writes no report.
    answer: /^$|NotCapable/,
  },
  {
    name: 'write a snapshot of its memory',
    spoils: true,
    stoppedBy: 'the kernel',
    attempt: 'const v8 = await import("node:v8"); return v8.writeHeapSnapshot("/tmp/x")',
    // It needs more memory than the instance has, and may write no file.
    answer: /NotCapable|"code":502/,
  },
  {
    name: 'read the name, the users and the networks of the device',
    stoppedBy: sandbox,
    attempt: `const os = await import("node:os"); const shown = []
      for (const name of ["hostname", "networkInterfaces", "userInfo", "cpus", "loadavg", "homedir"])
        try { shown.push(name + "=" + JSON.stringify(os[name]())) } catch {}
      return "shown " + shown`,
    answer: /^shown (homedir=(null|"[^"]*"))?$/,
  },
  {
    name: 'read what its process was started with',
    stoppedBy: sandbox,
    attempt:
      'return [process.cwd(), process.argv, Object.keys(process.env).filter((name) => !name.startsWith("MCM."))].join("|")',
    answer: /^\/\|node,index\.js\|$/,
  },
]
