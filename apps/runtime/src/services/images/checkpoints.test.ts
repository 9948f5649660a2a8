import { createHash, hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCheckpoints } from './checkpoints.ts'
import type { StoredUpload } from './stored-upload.ts'

const quarter = 256 * 1024
const zeros = (bytes: number) => hash('sha256', Buffer.alloc(bytes), 'hex')

/** An upload of zeros, and what was made durable of it. @param save what the disk does */
function begin(save: () => Promise<void> = async () => undefined) {
  const upload = { bytes: 0, hash: createHash('sha256') } as unknown as StoredUpload
  const saved: [number, string][] = []
  let ms = 5000
  const checkpoints = createCheckpoints(
    upload,
    async (bytes, digest) => {
      saved.push([bytes, digest])
      await save()
    },
    () => ms,
  )
  const arrive = (bytes: number, afterMs = 0) => {
    ms += afterMs
    upload.hash!.update(Buffer.alloc(bytes))
    upload.bytes += bytes
    checkpoints.passed()
  }
  return { upload, saved, arrive, checkpoints }
}

describe('bytes that arrive are made durable', () => {
  it('at 256 KiB, and then once a second', async () => {
    const { saved, arrive, checkpoints } = begin()
    arrive(quarter - 1)
    expect(saved).toEqual([])
    arrive(1)
    await Promise.resolve()
    for (let at = 0; at < 999; at++) arrive(quarter, 1)
    expect(saved).toEqual([[quarter, zeros(quarter)]])
    await new Promise(setImmediate)
    arrive(quarter, 1)
    expect(saved.map(([bytes]) => bytes)).toEqual([quarter, 1001 * quarter])
    await checkpoints.complete()
    expect(saved).toHaveLength(2)
  })

  it('only 256 KiB or more, however slowly they come', async () => {
    const { saved, arrive } = begin()
    arrive(quarter)
    await new Promise(setImmediate)
    arrive(quarter - 1, 100_000)
    expect(saved).toHaveLength(1)
    arrive(1)
    expect(saved).toHaveLength(2)
  })

  it('one time after the other, and the bytes do not wait', async () => {
    const slow = Promise.withResolvers<void>()
    const { saved, arrive, checkpoints } = begin(() => slow.promise)
    arrive(quarter)
    arrive(quarter, 2000)
    expect(saved).toHaveLength(1)
    slow.resolve()
    await checkpoints.complete()
    expect(saved).toEqual([
      [quarter, zeros(quarter)],
      [2 * quarter, zeros(2 * quarter)],
    ])
  })

  it('when their request ends, however few they are', async () => {
    const { saved, arrive, checkpoints } = begin()
    arrive(1)
    await checkpoints.complete()
    await checkpoints.complete()
    expect(saved).toEqual([[1, zeros(1)]])
  })
})

describe('bytes that the disk did not accept', () => {
  it('count as missing, and end the request with its error', async () => {
    let fails = false
    const failure = new Error('EIO')
    const { upload, arrive, checkpoints } = begin(async () => {
      if (fails) throw failure
    })
    arrive(quarter)
    await new Promise(setImmediate)
    fails = true
    arrive(quarter, 2000)
    await new Promise(setImmediate)
    expect(() => arrive(1)).toThrow(failure)
    fails = false
    // A later sync of the same file proves nothing.
    await expect(checkpoints.complete()).rejects.toBe(failure)
    expect(upload.bytes).toBe(quarter)
    expect(upload.hash!.copy().digest('hex')).toBe(zeros(quarter))
  })

  it('at the end of their request count as missing', async () => {
    const { upload, arrive, checkpoints } = begin(() => Promise.reject(new Error('EIO')))
    arrive(10)
    await expect(checkpoints.complete()).rejects.toThrow('EIO')
    expect([upload.bytes, upload.hash!.copy().digest('hex')]).toEqual([0, zeros(0)])
  })
})
