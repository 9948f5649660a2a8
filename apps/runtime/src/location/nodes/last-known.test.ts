import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@selvedge/service-kit/log'
import { expect, it } from 'vitest'
import { openLastKnown } from './last-known.ts'

const log = createLog({ service: 'runtime', level: 'error', now: () => 0 })

it('answers go on while they cannot be stored, and are stored when they can', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'last-known-'))
  const question = { cluster: 'account' } as const
  const list = { type: 'account' as const, data: [], next: null }
  // The folder of the document is missing: every attempt to open it fails.
  const known = await openLastKnown(join(folder, 'missing/nodes'), log)
  await known.keep('a', question, 1, list)
  expect(await known.find('a', question)).toBeUndefined()
  mkdirSync(join(folder, 'missing'))
  await known.keep('a', question, 2, list)
  expect(await known.find('a', question)).toEqual({ at: 2, list })
  await known.close()
  rmSync(folder, { recursive: true })
})

it('closes after it could not be opened', async () => {
  const known = await openLastKnown('/proc/nope/nodes', log)
  await known.keep('a', { cluster: 'account' }, 1, { type: 'account', data: [], next: null })
  await expect(known.close()).resolves.toBeUndefined()
})
