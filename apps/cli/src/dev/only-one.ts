/**
 * One `dev` of a service at a time: two would replace each other's version at every save. Each has a socket that only this user reaches
 * and that closes with its process, so a killed one leaves nothing locked. Each opens its own socket before it connects to those of
 * others: of two that begin together, at most one continues.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Input } from '../command.ts'
import { configFolder } from '../context/config-folder.ts'
import type { Context } from '../context/context.ts'
import { UsageError } from '../failure.ts'

/** Bytes of a path that the system accepts for a socket, with the zero byte at its end. */
const maxPathBytes = 104
/** Milliseconds in which a process that works accepts a connection. */
const acceptMs = 2000

/** The claim of a session to its service. The first deployment at which the runtime answers makes it. */
export function createClaim(
  context: Context,
  { name, options }: { readonly name: string; readonly options: Input['options'] },
) {
  let held: (() => void) | undefined
  return {
    /** @throws UsageError while another `dev` deploys the service */
    async make(): Promise<void> {
      // Without a runtime, the deployment itself reports that.
      const found = held ? undefined : await context.runtime.getMe().catch(() => undefined)
      if (found === undefined) return
      const service = [found.nodeId, String(options.clientId ?? ''), name]
      held = await onlyOne(configFolder(context.env), service)
    },
    release: () => held?.(),
  }
}

/**
 * @param folder of the user's configuration
 * @param service what names the service: device, project and name
 * @returns the function that lets another `dev` begin
 * @throws UsageError while another one runs
 */
async function onlyOne(folder: string, service: readonly string[]): Promise<() => void> {
  const digest = createHash('sha256').update(JSON.stringify(service)).digest('hex').slice(0, 16)
  const prefix = `dev-${digest}-`
  const own = join(folder, `${prefix}${process.pid}`)
  // In a folder with a very long path, a second one is not noticed.
  if (Buffer.byteLength(own) >= maxPathBytes) return () => undefined
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  rmSync(own, { force: true })
  const server = await listen(own)
  const release = () => {
    server.close()
    rmSync(own, { force: true })
  }
  const others = readdirSync(folder).filter((name) => name.startsWith(prefix))
  for (const name of others) {
    const path = join(folder, name)
    if (path === own) continue
    if (!(await isOpen(path))) {
      rmSync(path, { force: true })
      continue
    }
    release()
    const pid = name.slice(prefix.length)
    throw new UsageError(
      `another "selvedge dev" already deploys ${service.at(-1)} to this device: process ${pid}`,
      `Stop it with Ctrl-C in its terminal (kill ${pid}), or deploy under another name: --name <name>`,
    )
  }
  return release
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  server.unref()
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(path, () => resolve(server))
  })
}

/** Whether a process listens on a socket. */
function isOpen(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const finish = (isAccepted: boolean) => {
      socket.destroy()
      resolve(isAccepted)
    }
    // It listens, and is too busy to accept.
    socket.setTimeout(acceptMs, () => finish(true))
    socket.once('connect', () => finish(true)).once('error', () => finish(false))
  })
}
