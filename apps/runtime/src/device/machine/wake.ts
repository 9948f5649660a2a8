/** The start of a device on its machine, or on another one, and what a person is shown of it. */
import { join } from 'node:path'
import type { Log } from '@selvedge/service-kit/log'
import { StoreError } from '@selvedge/service-kit/store'
import type { Notices } from '../node/notices.ts'
import { keepToMachine, replacedBy } from './own-machine.ts'
import { thisMachine } from './this-machine.ts'

/** Milliseconds for which a state that was set aside is a notice. */
const shownMs = 7 * 86_400_000

/**
 * To be called first, with the folder of the runtime locked.
 *
 * @param state path of the state folder
 * @throws StoreError when the disk fails
 */
export async function wakeOnMachine(state: string, log: Log): Promise<void> {
  const folder = join(state, 'runtime')
  const { setAside, adopted } = await keepToMachine(
    folder,
    thisMachine(process.env.CREDENTIALS_DIRECTORY),
  ).catch((cause: unknown) => {
    throw new StoreError(`can't tie the state in ${folder} to this machine: ${(cause as Error).message}`, {
      cause,
    })
  })
  if (setAside !== undefined)
    log.warn('the state is of another machine and was set aside; this device starts as a new node', {
      folder: setAside,
      hint: 'To be the node of before, as after a board swap: selvedge device adopt',
    })
  if (adopted !== undefined) log.info('the state of another machine was adopted', { folder: adopted })
}

/** Shows for a week that a state was set aside. */
export async function showAside(state: string, notices: Notices, now: number): Promise<void> {
  const aside = await replacedBy(join(state, 'runtime'))
  if (aside && now - aside.at < shownMs) notices.raise('other_machine', { folder: aside.path })
}
