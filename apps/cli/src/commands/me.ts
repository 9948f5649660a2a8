import { fingerprintOf } from '@selvedge/protocol/tokens'
import { command } from '../command.ts'

export const me = command({
  path: ['me'],
  summary: 'Show this runtime: node, account, name, version.',
  run: async ({ runtime }) => runtime.getMe(),
  human: ({ nodeId, accountId, name, version }) =>
    [
      ...[`node         ${nodeId}`, `fingerprint  ${fingerprintOf(nodeId)}`],
      ...[`account      ${accountId || 'none'}`, `name         ${name}`, `version      ${version}`],
    ].join('\n'),
})
