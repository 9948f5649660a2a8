/**
 * The escape corpus: what a hostile function would try, what it gets, and what stopped it. `attempt` is the body of an async
 * function whose result, or whose error, is the answer.
 */
export interface Escape {
  readonly name: string
  /** Layer that stops it, as the container record names it, or the part of the runtime that does. */
  readonly stoppedBy: string
  readonly attempt: string
  /** What the caller sees: in the text where it is answered, as a status where it is not. */
  readonly answer: RegExp | readonly number[]
  /** What the history of the container says then. */
  readonly history?: RegExp
  /** A status that callers meet afterwards, where the attempt spoils the service itself. */
  readonly afterwards?: number
  readonly env?: Readonly<Record<string, string>>
  /** It changes or fills what others would run in: it gets a function of its own. */
  readonly spoils?: true
}

/** Whether an attempt needs a function that makes no other attempt: it stops that function, or leaves it changed. */
export const needsOwnFunction = ({ spoils, history, afterwards, answer }: Escape): boolean =>
  spoils === true || history !== undefined || afterwards !== undefined || !(answer instanceof RegExp)

const denied = /NotCapable|PermissionDenied/

/** Writes to the control line, which the process has open. `frame` makes what the line expects. */
const onControlLine = `const { core } = Deno[Deno.internal]
  const frame = (kind, length, text) => { const f = Buffer.alloc(5 + text.length); f.writeUInt32BE(length); f[4] = kind; f.write(text, 5, "latin1"); return f }
  const lines = Object.entries(core.resources()).filter(([, name]) => name === "unixStream").map(([rid]) => Number(rid))
  if (lines.length !== 1) return "lines: " + JSON.stringify(core.resources())
  const write = (bytes) => core.writeAll(lines[0], bytes);`

export const escapes: readonly Escape[] = [
  {
    name: 'read /etc/passwd',
    stoppedBy: 'language permissions',
    attempt: 'return Deno.readTextFileSync("/etc/passwd")',
    answer: denied,
  },
  {
    name: 'read /etc/passwd through node:fs',
    stoppedBy: 'language permissions',
    attempt: 'return (await import("node:fs")).readFileSync("/etc/passwd", "utf8")',
    answer: denied,
  },
  {
    name: 'read a file by a module import',
    stoppedBy: 'language permissions',
    attempt: 'return JSON.stringify(await import("file:///etc/passwd"))',
    answer: /denied|NotCapable|not found|No such|Requires/i,
  },
  {
    name: 'read the state folder',
    stoppedBy: 'language permissions',
    attempt: 'return Deno.readTextFileSync("STATE/runtime/node-key.json")',
    answer: denied,
  },
  {
    name: 'list the root',
    stoppedBy: 'language permissions',
    attempt: 'return [...Deno.readDirSync("/")].map((e) => e.name).join()',
    answer: denied,
  },
  {
    name: 'read its own environment of the process',
    stoppedBy: 'language permissions',
    attempt: 'return JSON.stringify(Deno.env.toObject())',
    answer: denied,
  },
  {
    name: 'read /proc of others',
    stoppedBy: 'language permissions',
    attempt: 'return Deno.readTextFileSync("/proc/1/environ")',
    answer: denied,
  },
  {
    name: 'write a file',
    stoppedBy: 'language permissions',
    attempt: 'Deno.writeTextFileSync("/tmp/x", "x"); return "written"',
    answer: denied,
  },
  {
    name: 'make a link in the folder that its socket was in',
    stoppedBy: 'language permissions',
    attempt: 'Deno.symlinkSync("/etc", "/start/etc"); return Deno.readTextFileSync("/start/etc/passwd")',
    answer: denied,
  },
  {
    name: 'replace its own socket by a folder and write files into it',
    stoppedBy: 'language permissions',
    attempt: `const done = []
      for (const path of [...Deno.args.slice(0, 3), "/start/service", "/host", "/control"]) {
        try { Deno.removeSync(path); done.push("removed " + path) } catch (e) { done.push(e.name) }
        try { Deno.mkdirSync(path, { recursive: true, mode: 0 }); done.push("made " + path) } catch (e) { done.push(e.name) }
        try { Deno.writeFileSync(path + "/file", new Uint8Array(1 << 20)); done.push("wrote " + path) } catch (e) { done.push(e.name) }
      }
      return done.join()`,
    // It keeps access to its host socket: it cannot change that path.
    answer: /^(?:(?!removed|made|wrote)\w+(?:,|$)){18}$/,
  },
  {
    name: 'write anywhere, by any name that programs can usually write to',
    stoppedBy: 'language permissions',
    attempt: `const fs = await import("node:fs"); const done = []
      for (const folder of ["/", "/tmp", "/start", "/instance", "/dev", "/dev/shm", "/proc/self/cwd", "/proc/self/fd", "."]) {
        for (const write of [Deno.mkdirSync, Deno.makeTempFileSync, fs.mkdirSync, (path) => fs.writeFileSync(path, "x"), (path) => Deno.linkSync("/host", path)])
          try { write(folder + "/x"); done.push("wrote " + folder) } catch {}
      }
      return "done " + done.join()`,
    answer: /^done $/,
  },
  {
    name: 'get back the permissions that it was started with',
    stoppedBy: 'language permissions',
    attempt: `const done = []
      for (const path of [...Deno.args.slice(0, 2), "/start/service", "/control", "/", "/tmp"])
        for (const name of ["read", "write"])
          done.push((await Deno.permissions.request({ name, path })).state, (await Deno.permissions.query({ name, path })).state)
      return done.join()`,
    answer: /^((denied|prompt),?){24}$/,
  },
  {
    name: 'use a descriptor between 0 and 255 that is not its own',
    stoppedBy: 'the runtime',
    attempt: `const fs = await import("node:fs"); const net = await import("node:net"); const found = []
      for (let fd = 0; fd < 256; fd++) {
        for (const use of [() => fs.readSync(fd, new Uint8Array(1)), () => fs.readdirSync("/proc/self/fd/" + fd), () => fs.ftruncateSync(fd), () => fs.fchmodSync(fd, 0o777)])
          try { use(); found.push(fd) } catch {}
      }
      return "found " + found.join()`,
    answer: /^found [0-2,]*$/,
  },
  {
    name: 'reach the socket of the runtime',
    stoppedBy: 'language permissions',
    attempt: 'await Deno.connect({ transport: "unix", path: "STATE/runtime.sock" }); return "connected"',
    answer: denied,
  },
  {
    name: 'reach the admin socket',
    stoppedBy: 'language permissions',
    attempt: 'await Deno.connect({ transport: "unix", path: "STATE/admin.sock" }); return "connected"',
    answer: denied,
  },
  {
    name: 'reach the metadata address',
    stoppedBy: 'language permissions',
    attempt: 'await Deno.connect({ hostname: "169.254.169.254", port: 80 }); return "connected"',
    answer: denied,
  },
  {
    name: 'reach a port of the loopback',
    stoppedBy: 'language permissions',
    attempt: 'await Deno.connect({ hostname: "127.0.0.1", port: PORT }); return "connected"',
    answer: denied,
  },
  {
    name: 'open a WebSocket to the outside',
    stoppedBy: 'language permissions',
    attempt:
      'const s = new WebSocket("ws://127.0.0.1:PORT/"); return await new Promise((r) => { s.onopen = () => r("connected"); s.onerror = (e) => r("failed " + e.message) })',
    answer: /NotCapable|failed/,
  },
  {
    name: 'fetch the metadata address',
    stoppedBy: 'the runtime',
    attempt: 'return (await fetch("http://169.254.169.254/latest/meta-data")).status',
    answer: /which services never reach/,
  },
  {
    name: 'fetch a host that is not listed',
    stoppedBy: 'the runtime',
    attempt: 'return (await fetch("https://example.com/")).status',
    answer: /not listed in MCM\.OUTBOUND/,
  },
  {
    name: 'fetch another port of a listed host',
    stoppedBy: 'the runtime',
    attempt: 'return (await fetch("http://127.0.0.1:1/")).status',
    answer: /not listed/,
    env: { 'MCM.OUTBOUND': '127.0.0.1:2' },
  },
  {
    name: 'fetch a name that leads inside',
    stoppedBy: 'the runtime',
    attempt: 'return (await fetch("http://localhost:1/")).status',
    answer: /not public/,
    env: { 'MCM.OUTBOUND': 'localhost:1' },
  },
  {
    name: 'fetch with credentials in the URL',
    stoppedBy: 'the runtime',
    attempt:
      'return (await fetch("http://127.0.0.1:2/", { headers: { "x-selvedge-target": "http://a:b@127.0.0.1:2/" } })).status',
    answer: /127\.0\.0\.1:2/,
    env: { 'MCM.OUTBOUND': '127.0.0.1:2' },
  },
  {
    name: 'call methods of the runtime that services may not call',
    stoppedBy: 'the runtime',
    attempt:
      'const r = await fetch(APIROOT + "/jsonrpc/v1", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ jsonrpc: "2.0", method: "getEdgeIdToken" }) }); return r.status + await r.text()',
    answer: /service_not_allowed/,
  },
  {
    name: 'get an identity token by a URL',
    stoppedBy: 'the runtime',
    attempt:
      'const r = await fetch("http://localhost:8083/runtime/v1/identity-token", { method: "POST", body: JSON.stringify({ audience: CTX.info.serviceType }) }); return r.status + await r.text()',
    answer: /404/,
  },
  {
    name: 'replace the headers with which its fetch names a target',
    stoppedBy: 'the runtime',
    attempt:
      'const r = await fetch("http://localhost:8083/jsonrpc/v1", { method: "POST", headers: { "content-type": "application/json", "x-selvedge-redirected": "cross-origin", "x-selvedge-target": "http://10.0.0.1/" }, body: JSON.stringify({ jsonrpc: "2.0", method: "getEdgeIdToken" }) }); return r.status + await r.text()',
    answer: /service_not_allowed/,
  },
  {
    name: 'call a service that asks for a token, without one',
    stoppedBy: 'the runtime',
    attempt: 'return (await fetch(APIROOT + "BYSTANDER")).status',
    answer: /^401$/,
  },
  {
    name: 'call itself by a name of its own choice',
    stoppedBy: 'the runtime',
    attempt:
      'const r = await fetch(APIROOT + "BYSTANDER", { headers: { "x-selvedge-account": "admin", "x-selvedge-container": "other" } }); return r.status',
    answer: /^401$/,
  },
  {
    name: 'a token for a container that is not there',
    stoppedBy: 'the runtime',
    attempt: 'return JSON.stringify(await CTX.identityToken("nobody"))',
    answer: /no container/,
  },
  {
    name: 'use a token for one service at another',
    stoppedBy: 'the runtime',
    attempt:
      'const { token } = await CTX.identityToken(CTX.info.serviceType); return (await fetch(APIROOT + "BYSTANDER", { headers: { authorization: "Bearer " + token } })).status',
    answer: /^401$/,
  },
  {
    name: 'spawn a program',
    stoppedBy: 'language permissions',
    attempt: 'return new Deno.Command("/bin/sh", { args: ["-c", "id"] }).outputSync().code',
    answer: denied,
  },
  {
    name: 'spawn through node:child_process',
    stoppedBy: 'language permissions',
    attempt: 'return (await import("node:child_process")).execSync("id").toString()',
    answer: denied,
  },
  {
    name: 'fork through node:cluster',
    stoppedBy: 'language permissions',
    attempt: 'return String((await import("node:child_process")).fork("/program.js").pid)',
    answer: /NotCapable|PermissionDenied|undefined|Error|bad_gateway/,
  },
  {
    name: 'load native code',
    stoppedBy: 'language permissions',
    attempt: 'return Deno.dlopen("/usr/lib/x86_64-linux-gnu/libc.so.6", {})',
    answer: denied,
  },
  {
    name: 'load a native addon',
    stoppedBy: 'language permissions',
    attempt:
      'return (await import("node:process")).dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6")',
    answer: /NotCapable|Error|not a function|bad_gateway/,
  },
  {
    name: 'import remote code',
    stoppedBy: 'language permissions',
    attempt: 'return JSON.stringify(await import("https://deno.land/std/version.ts"))',
    answer: /--no-remote|remote/,
  },
  {
    name: 'import a package',
    stoppedBy: 'language permissions',
    attempt: 'return JSON.stringify(await import("npm:ms"))',
    answer: /--no-npm|npm/,
  },
  {
    name: 'ask for a permission',
    stoppedBy: 'language permissions',
    attempt: 'return (await Deno.permissions.request({ name: "read" })).state',
    answer: /denied/,
  },
  {
    name: 'know the machine',
    stoppedBy: 'language permissions',
    attempt: 'return Deno.hostname() + Deno.osRelease()',
    answer: denied,
  },
  {
    name: 'kill its parent',
    stoppedBy: 'language permissions',
    attempt: 'Deno.kill(Deno.ppid, "SIGKILL"); return "killed"',
    answer: denied,
  },
  {
    name: 'kill itself',
    stoppedBy: 'restart',
    attempt: 'Deno.exit(1)',
    answer: [502],
    history: /ended with exit code 1/,
  },
  {
    name: 'allocate objects without end',
    stoppedBy: 'memory limit',
    attempt: 'const all = []; for (;;) all.push({ a: [all.length] })',
    answer: [502],
    history: /memory limit/,
  },
  {
    name: 'allocate buffers without end',
    stoppedBy: 'memory limit',
    attempt: 'const all = []; for (;;) all.push(new Uint8Array(8 << 20).fill(1))',
    answer: [502],
    history: /memory limit/,
  },
  {
    name: 'spin the processor',
    stoppedBy: 'time limit',
    attempt: 'for (;;);',
    answer: [504],
    env: { 'MCM.MAX_EXECUTION_TIME_SEC': '0.5' },
  },
  {
    name: 'spin in an expression',
    stoppedBy: 'time limit',
    attempt: 'return /^(a+)+$/.test("a".repeat(40) + "!")',
    answer: [504],
    env: { 'MCM.MAX_EXECUTION_TIME_SEC': '0.5' },
  },
  {
    name: 'start workers without end',
    stoppedBy: 'memory limit',
    attempt:
      'const all = []; for (let i = 0; i < 500; i++) { all.push(new Worker("data:text/javascript,setInterval(()=>{},1);const b=new Uint8Array(4<<20).fill(1);self.onmessage=()=>b", { type: "module" })); await new Promise((r) => setTimeout(r, 1)) } return "all run"',
    answer: [502],
    history: /ended|limit/,
  },
  {
    name: 'fill the storage',
    spoils: true,
    stoppedBy: 'quota',
    attempt: 'for (let i = 0; ; i++) CTX.storage.setItem("k" + i, "x".repeat(100000))',
    answer: /storage is full/,
    env: { 'MCM.STORAGE_MB': '1' },
  },
  {
    name: 'send 3 MB in one message to the runtime',
    stoppedBy: 'the runtime',
    attempt: `${onControlLine} write(frame(0, 3 << 20, "x".repeat(1000)))
      await new Promise((resolve) => setTimeout(resolve, 2000)); return "sent"`,
    answer: [502],
    history: /broke the control protocol: a frame of 3145728 bytes/,
  },
  {
    name: 'fill the memory of the runtime with values that never end',
    stoppedBy: 'the runtime',
    attempt: `${onControlLine} for (let i = 0; i < 100; i++) await write(frame(1, 131072, "x".repeat(131072)))
      await new Promise((resolve) => setTimeout(resolve, 2000)); return "sent"`,
    // It is ended while it writes: its answer may or may not still get out.
    answer: [200, 502],
    history: /broke the control protocol: a value of more than 8388608 bytes/,
  },
  {
    name: 'ask the runtime for tokens and never read them',
    spoils: true,
    stoppedBy: 'the runtime',
    attempt: `const text = JSON.stringify({ identify: CTX.info.serviceType, ask: 1 })
      ${onControlLine} let asked = 0
      const flood = async () => { for (;;) { await write(frame(0, text.length, text)); asked++ } }
      await Promise.race([flood(), new Promise((resolve) => setTimeout(resolve, 3000))])
      return "asked " + asked`,
    // On a busy machine its own flood keeps it from answering in time.
    answer: /asked \d{2,}|"reason":"timeout"/,
  },
  {
    name: 'flood the log',
    spoils: true,
    stoppedBy: 'the runtime',
    attempt: 'for (let i = 0; i < 20000; i++) console.log("x".repeat(1000)); return "flooded"',
    answer: /flooded/,
  },
  {
    name: 'one line without end',
    spoils: true,
    stoppedBy: 'the runtime',
    attempt: 'console.log("x".repeat(5_000_000)); return "written"',
    answer: /written/,
  },
  {
    name: 'throw on the side',
    stoppedBy: 'the host program',
    attempt:
      'setTimeout(() => { throw new Error("late") }, 1); Promise.reject(new Error("later")); await new Promise((r) => setTimeout(r, 50)); return "went on"',
    answer: /went on/,
  },
  {
    name: 'throw at once',
    stoppedBy: 'the host program',
    attempt: 'throw new Error("at once")',
    answer: /at once/,
  },
  {
    name: 'replace what it stands on',
    stoppedBy: 'the host program',
    attempt:
      'globalThis.Response = undefined; Array.prototype.push = null; Promise.prototype.then = null; return "done"',
    answer: [200, 500, 502, 504],
    env: { 'MCM.MAX_EXECUTION_TIME_SEC': '1' },
  },
  {
    name: 'nonsense on the line to the runtime',
    stoppedBy: 'the runtime',
    attempt: `${onControlLine} write(frame(0, 4, "null"))
      await new Promise((resolve) => setTimeout(resolve, 2000)); return "sent"`,
    answer: [502],
    history: /broke the control protocol: an unknown or malformed message/,
  },
  {
    name: 'claim a second time that its sockets are open',
    stoppedBy: 'the runtime',
    attempt: `${onControlLine} write(frame(0, 18, '{"listening":true}'))
      await new Promise((resolve) => setTimeout(resolve, 2000)); return "sent"`,
    answer: [502],
    history: /broke the control protocol: a message out of order/,
  },
  {
    name: 'nonsense to its host socket',
    stoppedBy: 'the runtime',
    attempt:
      'try { await fetch("http://127.0.0.1:1/") } catch {}; ' +
      `const net = await import("node:net"); for (let fd = 3; fd < 40; fd++) try { new net.Socket({ fd }).on("error", () => {}).write("NONSENSE\\r\\n\\r\\n") } catch {}
      return "sent"`,
    answer: [200, 502],
  },
  {
    name: 'keep connections to the runtime open',
    spoils: true,
    stoppedBy: 'the runtime',
    attempt:
      'const body = () => new ReadableStream({ pull: () => new Promise(() => {}) }); for (let i = 0; i < 300; i++) fetch(APIROOT + "BYSTANDER", { method: "POST", body: body(), duplex: "half" }).catch(() => {}); await new Promise((r) => setTimeout(r, 500)); return "kept"',
    answer: /kept/,
  },
  {
    name: 'an answer that is not HTTP',
    stoppedBy: 'the gateway',
    attempt: `const net = await import("node:net"); const answer = (c) => c.on("error", () => {}).end("this is not HTTP\\r\\n\\r\\n"); globalThis.kept = []
      for (let fd = 3; fd < 40; fd++) try { kept.push(net.createServer(answer).on("error", () => {}).listen({ fd })) } catch {}
      await new Promise((r) => setTimeout(r, 200)); return "replaced"`,
    answer: [200, 502],
    afterwards: 502,
  },
]

/** A module worker that makes the attempt of the number in the path of a request: `/attempt/0` is the first one. */
export const attackerSource = (
  attempts: readonly Escape[],
  fill: Readonly<Record<string, string>>,
): string => {
  const filled = Object.entries(fill).reduce(
    (text, [name, value]) => text.replaceAll(name, value),
    attempts.map(({ attempt }) => `async () => { ${attempt} }`).join(',\n'),
  )
  return `export default {
  async fetch(request, env, CTX) {
    const APIROOT = CTX.info.apiRoot
    const [, number] = /^\\/attempt\\/(\\d+)$/.exec(new URL(request.url).pathname) ?? []
    if (number === undefined) return new Response('alive')
    const attempts = [${filled}]
    try {
      return new Response(String(await attempts[number]()))
    } catch (error) {
      return new Response(error.name + ': ' + error.message)
    }
  },
}`
}
