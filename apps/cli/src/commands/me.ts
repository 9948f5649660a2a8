import { command } from '../command.ts'

export const me = command({
  path: ['me'],
  summary: 'Show this runtime: node, account, name, version.',
  run: async ({ runtime }) => runtime.getMe(),
  human: ({ nodeId, accountId, name, version }) =>
    `node     ${nodeId}\naccount  ${accountId || 'none'}\nname     ${name}\nversion  ${version}`,
})
