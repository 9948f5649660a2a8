import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../tests/harness/processes.ts'
import { openBlobs } from './blobs.ts'
import { openUploads } from './uploads.ts'

it('stores the newest eight uploads, accepts eight at a time, and forgets them after an hour', async () => {
  const folder = await temporaryFolder()
  let now = 0
  const clock = { now: () => now }
  const stored = join(folder.path, 'uploads')
  const uploads = await openUploads(stored, await openBlobs(join(folder.path, 'images')), clock as never)
  const upload = (text: string) =>
    uploads.receive(
      (async function* () {
        yield Buffer.from(text)
      })(),
    )
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => upload(`at once ${at}`)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(8)
  expect(results.at(-1)).toMatchObject({ reason: { reason: 'busy' } })
  const handles: string[] = []
  for (let at = 0; at < 12; at++) {
    now++
    handles.push((await upload(`in turn ${at}`)).handle)
  }
  expect(readdirSync(stored)).toHaveLength(8)
  await uploads.pathOf(handles.at(-1)!)
  await expect(uploads.pathOf(handles[0]!)).rejects.toMatchObject({ reason: 'not_found' })
  now += 3_600_001
  await upload('an hour later')
  expect(readdirSync(stored)).toHaveLength(1)
  await folder.remove()
})
