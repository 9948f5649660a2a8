/** One run of `dev`: deploys a folder at each save, and follows the log of its service. */
import { existsSync } from 'node:fs'
import { createBuilder } from '../archive/bundler/builder.ts'
import type { Input } from '../command.ts'
import type { Context } from '../context/context.ts'
import { describeFailure, exitCodes } from '../failure.ts'
import { createTokens, type Deployed, deployFolder } from './deploy.ts'
import { followLog } from './follow.ts'
import { createClaim } from './only-one.ts'
import { createShow } from './show.ts'
import { watchFolder } from './watch.ts'

/** Milliseconds after which a deployment is tried again when no runtime answers. */
const retryMs = 1000

export interface DevTarget {
  readonly folder: string
  /** Of the container. */
  readonly name: string
  readonly options: Input['options']
}

/**
 * Deploys, follows and watches until the signal is aborted; a deployment that is under way then is completed.
 *
 * @returns the ID of the container, if it was deployed
 * @throws UsageError while another one deploys the same service
 */
export async function runSession(
  context: Context,
  target: DevTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { terminal } = context
  const { folder } = target
  const builder = createBuilder()
  const tokens = createTokens(context, target.options)
  const show = createShow(terminal, folder)
  const saved = createLatch()
  const claim = createClaim(context, target)
  const watcher = watchFolder(folder, {
    onSave: saved.set,
    onProblem: (text) => terminal.note(text, 'yellow'),
  })
  signal.addEventListener('abort', () => {
    builder.close()
    saved.set()
  })

  async function deploy(): Promise<Deployed | undefined> {
    if (!existsSync(folder)) {
      terminal.note(`${folder} is gone; waiting until it is there again`, 'yellow')
      return undefined
    }
    await claim.make()
    try {
      const deployed = await deployFolder(context, tokens, builder, target)
      watcher.add(deployed.modules.filter((each) => !each.includes('/node_modules/')))
      show.deployed(deployed)
      return deployed
    } catch (cause) {
      if (signal.aborted) return undefined
      show.failed(cause)
      if (describeFailure(cause).code === exitCodes.notRunning) setTimeout(saved.set, retryMs).unref()
      return undefined
    }
  }

  async function nextDeployment(): Promise<Deployed | undefined> {
    await saved.wait()
    return signal.aborted ? undefined : deploy()
  }

  let first: Deployed | undefined
  saved.set()
  try {
    while (!signal.aborted && first === undefined) first = await nextDeployment()
    const following = first
      ? followLog(context, tokens, first.id, signal, show.logLine, show.logLost)
      : Promise.resolve()
    while (!signal.aborted) await nextDeployment()
    await following
  } finally {
    builder.close()
    claim.release()
    await watcher.close()
  }
  return first?.id
}

/** Holds one wish, also for a waiter that comes later. */
function createLatch() {
  let isSet = false
  let wake = () => {}
  return {
    set() {
      isSet = true
      wake()
    },
    async wait(): Promise<void> {
      if (!isSet)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      isSet = false
    },
  }
}
