import * as z from 'zod'
import { method } from './method.ts'

export const discover = method({
  name: 'rpc.discover',
  summary: 'The OpenRPC document of this API.',
  params: [],
  result: z.looseObject({ openrpc: z.string() }),
  reasons: [],
  access: { caller: 'anyone' },
})
