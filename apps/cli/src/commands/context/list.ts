import { command } from '../../command.ts'
import { noContext } from '../../context/contexts.ts'
import { formatHuman } from '../../output/human.ts'

export const contextList = command({
  path: ['context', 'list'],
  summary: 'List the contexts of this user. "*" marks the one in use.',
  run: async ({ contexts }) => {
    const { current, contexts: all } = contexts.read()
    return { current: current ?? noContext, contexts: all }
  },
  human: ({ current, contexts }) =>
    formatHuman([
      {
        '': current === noContext ? '*' : ' ',
        name: noContext,
        runtime: 'of the environment, the current folder, or this machine',
        identity: null,
      },
      ...contexts.map(({ name, url, state, identityUrl }) => ({
        '': name === current ? '*' : ' ',
        name,
        runtime: url ?? state,
        identity: identityUrl ?? 'that of the runtime',
      })),
    ]),
})
