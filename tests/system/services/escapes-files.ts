/** What a hostile function would try with its own files, its `node:os` and `node:dns`: each is an expression, with `fs` and `net` of the function. */
export interface FileEscape {
  readonly name: string
  readonly attempt: string
  readonly answer: RegExp
}

const denied = /NotCapable/
/** What each descriptor of the process would give, as the code of its error. */
const everyDescriptor = (call: string): string =>
  `[...new Set(Array.from({ length: 1000 }, (_, fd) => { try { return ${call} } catch (e) { return e.code } }))].join()`

const attempts: readonly (readonly [name: string, attempt: string, answer: RegExp])[] = [
  ['read /etc/passwd', 'fs.readFileSync("/etc/passwd", "utf8")', /ENOENT/],
  ['read it from its own folder', 'fs.readFileSync("/tmp/../etc/passwd", "utf8")', /ENOENT/],
  ['read it by a relative path', 'fs.readFileSync("../../../etc/passwd", "utf8")', /ENOENT/],
  ['read it by a URL', 'fs.readFileSync(new URL("file:///tmp/%2e%2e/etc/passwd"))', /ENOENT/],
  ['read it by bytes', 'fs.readFileSync(Buffer.from("/etc/passwd"))', /ENOENT/],
  [
    'read it by a path that changes after the check',
    '{ let n = 0; fs.readFileSync({ toString: () => (n++ ? "/etc/passwd" : "/tmp/a") }) }',
    /ERR_INVALID_ARG_TYPE/,
  ],
  ['read it behind a null byte', 'fs.readFileSync("/etc/passwd\\0/tmp/a")', /ERR_INVALID_ARG_VALUE/],
  ['read it as a stream', '(await fs.createReadStream("/etc/passwd").toArray()).join()', /ENOENT/],
  ['read its environment', 'fs.readFileSync("/proc/self/environ", "utf8")', /ENOENT/],
  ['write to its memory', 'fs.openSync("/proc/self/mem", "r+")', /ENOENT/],
  ['read a descriptor by a path', 'fs.readFileSync("/proc/self/fd/3")', /ENOENT/],
  ['open the control line', 'await fs.promises.open("/control", "r+")', /ENOENT/],
  ['find the socket of the runtime', 'String(fs.existsSync("/host"))', /^false$/],
  ['list the root', 'fs.readdirSync("/").join()', /^tmp$/],
  ['list processes', 'fs.readdirSync("/proc").join()', /ENOENT/],
  ['make a link to /etc', 'fs.symlinkSync("/etc", "/tmp/etc")', /EPERM/],
  ['make a hard link to a program', 'fs.linkSync("/deno", "/tmp/deno")', /EPERM/],
  ['read any descriptor', everyDescriptor('fs.readSync(fd, Buffer.alloc(1))'), /^EBADF$/],
  ['inspect any descriptor', everyDescriptor('fs.fstatSync(fd).size'), /^EBADF$/],
  ['close any descriptor', everyDescriptor('fs.closeSync(fd)'), /^EBADF$/],
  [
    'write to any descriptor but its output',
    everyDescriptor('fd === 1 || fd === 2 ? "EBADF" : fs.writeSync(fd, "x")'),
    /^EBADF$/,
  ],
  [
    'stream to the control line',
    'await new Promise((_, no) => fs.createWriteStream(null, { fd: 3 }).on("error", no).end("x"))',
    /EBADF/,
  ],
  ['watch a folder', 'await new Promise((_, no) => fs.watch("/etc").on("error", no))', denied],
  ['copy a folder', 'fs.cpSync("/etc", "/tmp/etc", { recursive: true })', denied],
  ['open a folder', 'String(fs.opendirSync("/etc"))', denied],
  ['measure the disk', 'JSON.stringify(fs.statfsSync("/"))', denied],
  ['get a file as a blob', 'await (await fs.openAsBlob("/etc/passwd")).text()', denied],
  [
    'get the platform’s files by an import',
    '(await import("node:fs")).readFileSync("/etc/passwd", "utf8")',
    denied,
  ],
  [
    'get the platform’s files by require',
    'process.getBuiltinModule("node:module").createRequire("file:///x")("node:fs").readFileSync("/etc/passwd", "utf8")',
    denied,
  ],
  [
    'get the binding of files',
    'String(process.binding("fs").open("/etc/passwd"))',
    /NotCapable|not|undefined|Error/,
  ],
  ['get them from the platform', 'fs.existsSync("/tmp") && Deno.readTextFileSync("/etc/passwd")', denied],
  [
    'write more than its files may have',
    'for (let n = 0; ; n++) fs.writeFileSync("/tmp/large" + n, Buffer.alloc(1 << 20))',
    /ENOSPC/,
  ],
  ['write far behind the end', 'fs.writeSync(fs.openSync("/tmp/far", "w"), "x", 2 ** 52)', /ENOSPC/],
  ['make files without end', 'for (let n = 0; ; n++) fs.writeFileSync("/tmp/many" + n, "")', /ENOSPC/],
  [
    'make folders in each other without end',
    'for (let path = "/tmp"; ; path += "/a") fs.mkdirSync(path + "/a")',
    /ENAMETOOLONG/,
  ],
  ['open a file without end', 'for (;;) fs.openSync("/tmp", "r")', /EMFILE/],
  [
    'learn the name, the users and the networks of the device',
    'JSON.stringify([os.hostname(), os.userInfo().username, os.networkInterfaces(), os.release(), os.totalmem()])',
    /^\["function","nobody",\{\},"0\.0\.0",134217728\]$/,
  ],
  ['look a name up', 'JSON.stringify(await dns.promises.lookup("localhost"))', /ENOTFOUND/],
  [
    'ask a name server of its own',
    'const r = new dns.promises.Resolver(); r.setServers(["127.0.0.1"]); await r.resolve4("localhost")',
    /ENOTFOUND/,
  ],
]

export const fileEscapes: readonly FileEscape[] = attempts.map(([name, attempt, answer]) => ({
  name,
  attempt,
  answer,
}))

/** A function that makes the attempt of a number. */
export const fileAttacker = `const { getBuiltinModule } = process
const [fs, os, dns] = ["fs", "os", "dns"].map((name) => getBuiltinModule("node:" + name))
const attempts = [${fileEscapes
  .map(({ attempt }) => `async () => { ${/^(for|const|\{)/.test(attempt) ? attempt : `return ${attempt}`} }`)
  .join(',\n')}]
export default {
  async fetch(request) {
    const at = Number(new URL(request.url).pathname.slice(1))
    try {
      for (const name of fs.readdirSync("/tmp")) fs.rmSync("/tmp/" + name, { recursive: true })
      return new Response("got " + (await attempts[at]()))
    } catch (cause) {
      return new Response(cause.name + ": " + (cause.code ?? "") + " " + cause.message)
    }
  },
}`
