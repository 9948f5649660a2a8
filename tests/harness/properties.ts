/** Tests of properties, with values from the seed of the run. */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { seed } from './seed.ts'

fc.configureGlobal({ seed: Buffer.from(hash('sha256', seed, 'hex'), 'hex').readInt32LE(0) })

export { fc }
