import * as z from 'zod'
import { joinKeyPattern } from '../tokens/join.ts'
import { method, param } from './method.ts'

export const joinAccount = method({
  name: 'joinAccount',
  summary: 'Joins an account by a join key, if this runtime has no account.',
  description:
    'The runtime stores the key until it has an account. Without a network, and until an owner has approved the device, it continues by itself. A key that is refused is not stored.',
  params: [
    param(
      'joinKey',
      z.string().regex(joinKeyPattern),
      'a join key: sj_ and 32 characters',
      'What "selvedge join-key create" printed.',
    ),
  ],
  result: z.object({
    accountId: z.string().describe('The account; empty without one'),
    state: z
      .enum(['joined', 'waiting', 'trying'])
      .describe(
        'waiting: an owner has to approve the device; trying: the identity service did not answer yet',
      ),
  }),
  reasons: ['already_associated', 'join_key_refused', 'busy', 'storage_full'],
  access: { caller: 'anyone' },
})
