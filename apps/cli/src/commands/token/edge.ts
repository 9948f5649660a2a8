import { command } from '../../command.ts'

export const tokenEdge = command({
  path: ['token', 'edge'],
  summary: 'Get an edge ID token of this node.',
  run: async ({ runtime }) => runtime.getEdgeIdToken(),
  human: ({ id_token }) => id_token,
})
