/**
 * What is not fit for production on this machine: a device, a server of the identity or discovery service, or all of them. Facts are
 * observed where possible (sockets, files, answers of the runtime); settings that a daemon gets from its environment are not seen.
 */
import { lstatSync } from 'node:fs'
import { isSelvedgeError } from '@selvedge/client'
import type { Context } from '../context/context.ts'
import { type Check, failed, passed } from './check.ts'
import { checkFolder, servicesIn } from './folder.ts'
import { checkNeeds } from './needs.ts'
import { checkListeners, checkUrls, readListeners } from './network.ts'
import { checkRuntime } from './runtime.ts'
import { checkSettings, readSettings } from './settings.ts'
import { checkUnits } from './units.ts'

/** Where the packages store the state of the services. */
const packaged = ['/var/lib/selvedge', '/var/lib/selvedge-identity', '/var/lib/selvedge-discovery']

/**
 * The checks of `selvedge doctor`, and those for production.
 *
 * @throws UsageError when the address of the runtime cannot be used
 */
export async function checkProduction(context: Context): Promise<readonly Check[]> {
  const settings = readSettings(context.env)
  const { path, isNamed } = context.state
  const states = [...new Set(isNamed ? [path] : [path, ...settings.states, ...packaged])].filter(isFolder)
  const now = context.now() * 1000
  return [
    ...(await checkRunning(context, states, now)),
    ...checkSettings(settings),
    ...checkListeners(readListeners()),
    ...states.flatMap((state) => checkReadable(state, now)),
  ]
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** A server without a runtime is fine. */
async function checkRunning(
  context: Context,
  states: readonly string[],
  now: number,
): Promise<readonly Check[]> {
  const { runtime } = context
  const hasServices = states.some((state) => servicesIn(state).some((name) => name !== 'runtime'))
  const hasRuntime = states.some((state) => servicesIn(state).includes('runtime'))
  try {
    const [me, engines, checks] = [
      await runtime.getMe(),
      await runtime.getEngines(),
      await checkNeeds(context),
    ]
    const { identity, discovery } = me.network
    return [
      ...checks,
      ...checkRuntime(me, engines, now),
      ...checkUrls({ identity: identity.url, discovery: discovery.url }),
    ]
  } catch (cause) {
    if (!isSelvedgeError(cause) || cause.reason !== 'not_running') throw cause
    const units = checkUnits()
    if (hasServices && !hasRuntime) return [...units, passed('runtime', 'this machine has no runtime')]
    if (units.length > 0) return units
    return [failed('runtime', cause.message, 'Start it, or name it with --state or --url.')]
  }
}

function checkReadable(state: string, now: number): readonly Check[] {
  try {
    return checkFolder(state, now)
  } catch (cause) {
    return [
      failed(
        'state',
        `${state} cannot be checked: ${(cause as Error).message}`,
        'Run the command as the user of the service, or as root.',
      ),
    ]
  }
}
