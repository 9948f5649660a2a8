import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { ImageRecord } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import type { Owner } from '../deployments/ownership.ts'
import { openBlobs } from './blobs.ts'
import { openUploads } from './uploads.ts'

const own = { account_id: 'a', client_id: 'c' }
const image = { id: 'c-image' } as ImageRecord
const other = { account_id: 'b', client_id: 'c' }

it('stores the newest eight uploads, accepts eight at a time, each for its owner, and forgets them after an hour', async () => {
  const folder = await temporaryFolder()
  let now = 0
  const clock = { now: () => now }
  const stored = join(folder.path, 'uploads')
  const uploads = await openUploads(stored, await openBlobs(join(folder.path, 'images')), clock as never)
  const upload = (text: string, owner = own) =>
    uploads.receive(
      owner,
      (async function* () {
        yield Buffer.from(text)
      })(),
    )
  // Work that fails does not use an upload up.
  const find = (owner: Owner, handle: string) =>
    uploads.use(owner, handle, undefined, () => Promise.reject(new Error('found')))
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => upload(`at once ${at}`)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(8)
  expect(results.at(-1)).toMatchObject({ reason: { reason: 'busy' } })
  const handles: string[] = []
  for (let at = 0; at < 12; at++) {
    now++
    handles.push((await upload(`in turn ${at}`)).handle)
  }
  expect(readdirSync(stored)).toHaveLength(8)
  await expect(find(own, handles.at(-1)!)).rejects.toThrow('found')
  await expect(find(own, handles[0]!)).rejects.toThrow('there is no upload')
  await expect(find(other, handles.at(-1)!)).rejects.toThrow('there is no upload')
  // The one who has most makes room for others.
  const [first, second] = [await upload('of another', other), await upload('of another, too', other)]
  for (let at = 0; at < 12; at++) await upload(`again ${at}`)
  for (const { handle } of [first, second]) await expect(find(other, handle)).rejects.toThrow('found')
  await uploads.keepOnly(other.account_id)
  expect(readdirSync(stored)).toHaveLength(2)
  now += 3_600_001
  await upload('an hour later')
  expect(readdirSync(stored)).toHaveLength(1)
  await folder.remove()
})

it('an upload that is being deployed stays until the deployment is complete, and is used up by its success', async () => {
  const folder = await temporaryFolder()
  let now = 0
  const clock = { now: () => now }
  const stored = join(folder.path, 'uploads')
  const uploads = await openUploads(stored, await openBlobs(join(folder.path, 'images')), clock as never)
  const upload = (text: string) => uploads.receive(own, Readable.from([Buffer.from(text)]))
  const { handle } = await upload('first')
  await uploads.use(own, handle, undefined, async (path) => {
    now += 3_600_001
    for (let at = 0; at < 12; at++) await upload(`later ${at}`)
    expect(readFileSync(path, 'utf8')).toBe('first')
    const removable = uploads.unused()
    expect(removable).toHaveLength(readdirSync(stored).length - 1)
    for (const each of removable) await each.remove()
    expect(readFileSync(path, 'utf8')).toBe('first')
    return image
  })
  expect(readdirSync(stored)).toEqual([])
  await folder.remove()
})
