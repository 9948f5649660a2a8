/** The way to other machines without a proxy, for parts that need one. */
import { createNetwork } from '@selvedge/client/node'

export const directNetwork = createNetwork({ proxy: 'direct', env: {} })
