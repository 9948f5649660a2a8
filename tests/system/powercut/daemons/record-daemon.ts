/** Records a daemon from its first start on, while clients use it. */
import type { SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { putState } from '../disk/place.ts'
import { leftBy } from '../lives.ts'
import { isDurable, record } from '../recorder/record.ts'
import type { Life, Work } from '../subject.ts'
import { Witness } from '../witness.ts'
import { builtProgram, environment, type Name } from './start.ts'

export interface Recorded {
  readonly url: string
  /** Its state folder. */
  readonly state: string
  readonly witness: Witness
}

export interface Options extends Life {
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

const failSyncs = join(import.meta.dirname, 'fail-syncs.cjs')

export async function recordDaemon(
  name: Name,
  { program = builtProgram(name), env = {}, args = [], earlier, failingSyncs }: Options,
  work: (recorded: Recorded) => Promise<void>,
): Promise<Work> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'powercut-disk-')))
  const state = join(folder, 'state')
  if (earlier) putState(folder, leftBy(earlier.recording.operations), isDurable)
  const failing = failingSyncs === undefined ? {} : { SELVEDGE_TEST_FAILING_SYNCS: failingSyncs }
  const options: SpawnOptions = {
    env: { ...(await environment(name, state)), ...env, ...failing },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  }
  const preload = failingSyncs === undefined ? [] : ['--require', failSyncs]
  const command = [process.execPath, ...preload, program, ...args]
  const recorder = record(folder, command, options, earlier?.recording.operations)
  const { process: child } = recorder
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  const ended = once(child, 'exit')
  try {
    const [said] = (await Promise.race([once(child, 'message'), ended.then(() => [undefined])])) as [
      { ready: { url: string } } | undefined,
    ]
    if (!said) throw new Error(`${name} did not start: ${errors}`)
    const { url } = said.ready
    const witness = new Witness(url)
    await work({ url, state, witness })
    child.kill('SIGTERM')
    await ended
    const recording = await recorder.read()
    return {
      recording,
      steps: [...(earlier?.steps ?? []), ...witness.steps(recording)],
      begins: earlier?.recording.operations.length ?? 0,
    }
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}
