import { command } from '../../command.ts'

export const hmacVerify = command({
  path: ['hmac', 'verify'],
  summary: 'Check an HMAC code.',
  args: [{ name: '<code>', description: 'the code to check' }],
  options: [
    { flags: '--uri <uri>', description: 'URI that the code must be for', required: true },
    { flags: '--node <id>', description: 'node that the code must be for; default this one' },
  ],
  run: async ({ runtime }, { args: [edgeHmacCode = ''], options }) => {
    const nodeId = typeof options.node === 'string' ? options.node : (await runtime.getMe()).nodeId
    return runtime.verifyEdgeHmacCode({ edgeHmacCode, nodeId, uri: String(options.uri) })
  },
  human: (verdict) => (verdict.valid ? `valid until ${verdict.expiresAt}` : `not valid: ${verdict.reason}`),
})
