/** The limits that the documents state, and what a client learns of them. */
import { expect, it } from 'vitest'
import { arriving, expectSize, tooSlow } from './arriving.ts'
import { lengthOf, maxImages, protection, shares, uploadPace } from './limits.ts'

it('no project has all of what a device has', () => {
  for (const { onDevice, ofOwner } of Object.values(shares)) expect(ofOwner).toBeLessThan(onDevice)
  expect(Object.values(shares).map(({ what }) => what)).toEqual([
    ...['archives', 'uploads', 'downloads', 'removals of images'],
  ])
  expect([shares.archives.kind, shares.uploads.kind, shares.pulls.kind]).toEqual([
    ...['archives', 'uploads', 'pulls'],
  ])
  expect(maxImages).toEqual({ ofProject: 200, ofAccount: 400, onDevice: 1000 })
  expect(protection).toEqual({ ms: 86_400_000, partOfDisk: 0.25 })
  expect(uploadPace).toEqual({ windowMs: 60_000, minBytes: 491_520, totalMs: 86_400_000 })
})

it.each([
  [3_600_000, '1 hours'],
  [86_400_000, '24 hours'],
  [60_000, '60 s'],
  [3_600_001, '3601 s'],
])('%i ms are %s', (ms, expected) => expect(lengthOf(ms)).toBe(expected))

it('an archive that is too large is refused by what was announced', () => {
  expect(() => expectSize(10, 10)).not.toThrow()
  expect(() => expectSize(11, 10)).toThrow(
    expect.objectContaining({ reason: 'invalid_image', message: expect.stringContaining('11 bytes') }),
  )
})

it('an archive that arrives too slowly is a limit, with the reason', async () => {
  expect(tooSlow('x')).toMatchObject({
    reason: 'limit_exceeded',
    message: 'the archive arrives too slowly: x',
    hint: expect.stringContaining('registry'),
  })
  async function* content() {
    yield Buffer.from('a')
    yield Buffer.from('b')
  }
  const parts: string[] = []
  for await (const part of arriving(content(), new AbortController().signal)) parts.push(String(part))
  expect(parts).toEqual(['a', 'b'])
})
