/**
 * Modules of Node.js that a function has in a form of its own: its environment, files in memory, a machine of constants, no name server. An import of
 * the platform's module would be bound to the platform's. The lists are the same on every machine, so that the same files make the same bundle.
 */

const listOf = (names: string): readonly string[] => names.trim().split(/\s+/)

const process = `arch argv chdir cwd emit emitWarning env exit hrtime memoryUsage nextTick off on once pid platform stderr
  stdout title umask uptime version versions`

/** With a call that has a callback, and one that returns. */
const files = `access appendFile chmod chown close copyFile cp exists fchmod fchown fdatasync fstat fsync ftruncate futimes glob
  lchmod lchown link lstat lutimes mkdir mkdtemp open opendir read readFile readdir readlink readv realpath rename rm rmdir stat
  statfs symlink truncate unlink utimes write writeFile writev`
const otherFiles = `Dir Dirent ReadStream Stats WriteStream constants createReadStream createWriteStream openAsBlob promises
  unwatchFile watch watchFile`
const filePromises = `access appendFile chmod chown constants copyFile cp glob lchmod lchown link lstat lutimes mkdir mkdtemp open
  opendir readFile readdir readlink realpath rename rm rmdir stat statfs symlink truncate unlink utimes watch writeFile`

const machine = `EOL arch availableParallelism constants cpus devNull endianness freemem getPriority homedir hostname loadavg machine
  networkInterfaces platform release setPriority tmpdir totalmem type uptime userInfo version`

const namesPromises = `ADDRGETNETWORKPARAMS BADFAMILY BADFLAGS BADHINTS BADNAME BADQUERY BADRESP BADSTR CANCELLED CONNREFUSED
  DESTRUCTION EOF FILE FORMERR LOADIPHLPAPI NODATA NOMEM NONAME NOTFOUND NOTIMP NOTINITIALIZED REFUSED Resolver SERVFAIL TIMEOUT
  getDefaultResultOrder getServers lookup lookupService resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx
  resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse setDefaultResultOrder setServers`

/** What each module exports by name, without its scheme. */
export const ownModules: Readonly<Record<string, readonly string[]>> = {
  process: listOf(process),
  fs: [...listOf(files).flatMap((name) => [name, `${name}Sync`]), ...listOf(otherFiles)],
  'fs/promises': listOf(filePromises),
  os: listOf(machine),
  dns: [...listOf(namesPromises), 'ADDRCONFIG', 'ALL', 'V4MAPPED', 'promises'],
  'dns/promises': listOf(namesPromises),
}
