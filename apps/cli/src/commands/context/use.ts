import { command } from '../../command.ts'
import { noContext } from '../../context/contexts.ts'

export const contextUse = command({
  path: ['context', 'use'],
  summary: 'Use a context for all commands that name no device themselves.',
  args: [{ name: '<name>', description: `context to use, or "${noContext}" for no context` }],
  run: async ({ contexts }, { args: [name = ''] }) => {
    contexts.use(name === noContext ? undefined : name)
    return { current: name }
  },
  human: ({ current }) =>
    current === noContext
      ? 'no context is in use: commands are for the device of the environment, the current folder, or this machine'
      : `commands are for ${current} from now on. Options and SELVEDGE_STATE or SELVEDGE_RUNTIME_URL come before it.`,
})

export const contextRemove = command({
  path: ['context', 'remove'],
  summary: 'Remove a context. Sign-ins and devices are not changed.',
  args: [{ name: '<name>', description: 'context to remove' }],
  run: async ({ contexts }, { args: [name = ''] }) => {
    contexts.remove(name)
    return { name }
  },
  human: ({ name }) => `removed ${name}`,
})
