/** The network namespace of a container, to set rules in. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, statSync } from 'node:fs'
import { RpcError } from '@selvedge/protocol'
import { safely } from '@selvedge/service-kit/safely'
import * as answers from '../answers.ts'
import type { EngineApi } from '../engine-api.ts'

/** Programs that set rules, absolute: the runtime has no `PATH` to rely on. */
export interface Tools {
  readonly nft: string
  readonly nsenter: string
}

const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin']
const find = (name: string) => folders.map((each) => `${each}/${name}`).find(existsSync)

/** @returns the programs, or why rules cannot be set; on systems other than Linux, containers are in a virtual machine of the engine */
export function findTools(): Tools | string {
  if (process.platform !== 'linux') return notLinux
  if (process.getuid?.() !== 0) return 'the runtime does not run as root'
  const [nft, nsenter] = [find('nft'), find('nsenter')]
  if (nft === undefined) return 'there is no program nft (Debian package nftables)'
  if (nsenter === undefined) return 'there is no program nsenter (Debian package util-linux)'
  return { nft, nsenter }
}

export interface Namespace {
  /** Applies a script of nftables, whole or not at all. @throws Error with what nft wrote */
  apply(script: string): Promise<void>
  close(): void
}

/** Milliseconds for one script, and characters of an error. */
const applyMs = 15_000
const maxError = 2000

const notLinux = 'this system is not Linux'

/**
 * Opens the namespace of a container that is initialized or runs. Its process may end meanwhile, and another one get its ID: the namespace
 * is opened first, and it counts only if the engine has the same process after that.
 *
 * @throws RpcError `engine_unavailable` if it has no namespace of its own
 */
export const openNamespace: (api: EngineApi, name: string, tools: Tools) => Promise<Namespace> =
  process.platform === 'linux' ? openOnLinux : () => Promise.reject(noNamespace(notLinux))

async function openOnLinux(api: EngineApi, name: string, tools: Tools): Promise<Namespace> {
  const pidOf = async () => (await api.read(`/containers/${name}/json`, answers.inspected)).State.Pid
  const pid = await pidOf()
  if (!pid) throw noNamespace('it has no process')
  const opened = openNet(pid)
  try {
    if (isOfDevice(opened)) throw noNamespace('it is in the network of the device')
    if ((await pidOf()) !== pid) throw noNamespace('its process has changed')
  } catch (cause) {
    closeSync(opened)
    throw cause
  }
  let isClosed = false
  return {
    apply: async (script) => {
      if (isClosed) throw new Error('the namespace is closed')
      await run(tools, opened, script)
    },
    close() {
      if (!isClosed) closeSync(opened)
      isClosed = true
    },
  }
}

const noNamespace = (why: string): RpcError =>
  new RpcError('engine_unavailable', `the network of the container cannot be limited: ${why}`)

function openNet(pid: number): number {
  try {
    return openSync(`/proc/${pid}/ns/net`, 'r')
  } catch {
    throw noNamespace('its process has exited')
  }
}

/** Whether a namespace is the one of this process, or of the first process of the device. */
function isOfDevice(opened: number): boolean {
  const { ino } = fstatSync(opened)
  return ['/proc/self/ns/net', '/proc/1/ns/net'].some((path) => {
    try {
      return statSync(path).ino === ino
    } catch {
      return false
    }
  })
}

function run({ nft, nsenter }: Tools, opened: number, script: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(nsenter, ['--net=/proc/self/fd/3', nft, '-f', '-'], {
      stdio: ['pipe', 'ignore', 'pipe', opened],
      env: {},
      timeout: applyMs,
      killSignal: 'SIGKILL',
    })
    let problem = ''
    child.stderr?.setEncoding('utf8').on(
      'data',
      safely('oci.nft', (text: string) => {
        problem = (problem + text).slice(0, maxError)
      }),
    )
    child.once('error', reject)
    child.once(
      'close',
      safely('oci.nft', (code: number | null) => {
        if (code === 0) resolve()
        else reject(new Error(`nft failed (${code ?? 'killed'}): ${problem.trim().slice(0, 300)}`))
      }),
    )
    // A program that exits before it has read everything writes why to standard error.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(script)
  })
}
