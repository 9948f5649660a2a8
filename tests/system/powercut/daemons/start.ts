/** Starts a built daemon on what a cut left, and looks at it as a person would. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '@selvedge/service-kit/testing'
import { root } from '../../../harness/processes.ts'

export type Name = 'runtime' | 'identity' | 'discovery'

export const builtProgram = (name: Name): string => join(root, 'apps', name, 'dist/main.cjs')

/** Where nobody listens: a device after a cut of the power often has no network yet. */
const nobody = 'http://127.0.0.1:9'

export const environment = async (name: Name, state: string): Promise<Record<string, string>> => ({
  PATH: process.env.PATH ?? '',
  SELVEDGE_STATE: state,
  SELVEDGE_LINK_LOCAL: 'false',
  SELVEDGE_IDENTITY_URL: nobody,
  SELVEDGE_DISCOVERY_URL: nobody,
  [`SELVEDGE_${name.toUpperCase()}_PORT`]: String(await freePort()),
})

/** Words in a log that tell a person of damage, or of a defect. */
const alarming = /damage|corrupt|malformed|set aside|a failure was caught|was not (handled|caught)/i

/**
 * Starts a daemon, asks it, and kills it.
 *
 * @param folder holds the state folder
 * @returns what is wrong
 */
export async function startOn(
  name: Name,
  folder: string,
  ask: (url: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const env = await environment(name, join(folder, 'state'))
  const child = spawn(process.execPath, [builtProgram(name)], {
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const ended = once(child, 'exit')
  const [said] = (await Promise.race([once(child, 'message'), ended.then(() => [undefined])])) as [
    { ready: { url: string } } | undefined,
  ]
  if (!said) return [`it does not start: ${errors}`]
  try {
    const problems = await ask(said.ready.url)
    const alarm = errors.split('\n').find((line) => alarming.test(line))
    return alarm === undefined ? problems : [...problems, `false alarm: ${alarm}`]
  } catch (cause) {
    return [`it does not answer: ${(cause as Error).message}`]
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
