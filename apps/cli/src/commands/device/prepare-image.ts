import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isSelvedgeError } from '@selvedge/client'
import { command } from '../../command.ts'
import type { Context } from '../../context/context.ts'
import { UsageError } from '../../failure.ts'
import { changing, deviceState } from './state.ts'

/** What makes one device of a state folder: its keys, its account, its services, the key of its API, and the person's sign-in. */
const ownNames = ['runtime', 'set-aside', 'api-key', 'login.json']
/** Folders of the services: then this is the state of a whole stack. */
const services = ['identity', 'discovery']

export const devicePrepareImage = command({
  path: ['device', 'prepare-image'],
  summary: 'Remove the identity and the services of this device, before its disk is copied to others.',
  options: [{ flags: '--yes', description: 'do not ask' }],
  notes: [
    'Stop the runtime first. Each copy makes its own identity at its first start. Configuration, and volumes of containers, stay.',
  ],
  run: async (context, { options }) => {
    const state = deviceState(context)
    const stack = services.filter((name) => existsSync(join(state, name)))
    if (stack.length > 0)
      throw new UsageError(
        `${state} holds the ${stack.join(' and the ')} service as well`,
        'Only the state of a device alone is removed. Name it with --state.',
      )
    await expectStopped(context)
    const present = changing(state, () => ownNames.filter((name) => existsSync(join(state, name))))
    const question = `Remove the identity and the services of this device (${present.map((name) => join(state, name)).join(', ')})?`
    if (options.yes !== true && (await context.terminal.ask(question)) !== true)
      throw new UsageError('nothing was removed', 'Confirm with --yes.')
    for (const name of present)
      changing(state, () => rmSync(join(state, name), { recursive: true, force: true }))
    return { removed: present.map((name) => join(state, name)) }
  },
  human: ({ removed }) => `removed    ${removed.join(', ')}`,
})

/** @throws UsageError while a runtime answers, or refuses to */
async function expectStopped({ runtime }: Context): Promise<void> {
  const isStopped = await runtime.getMe().then(
    () => false,
    (cause) => isSelvedgeError(cause) && cause.reason === 'not_running',
  )
  if (isStopped) return
  throw new UsageError(
    'the runtime runs and would write its state again',
    'Stop it first: sudo systemctl stop selvedge',
  )
}
