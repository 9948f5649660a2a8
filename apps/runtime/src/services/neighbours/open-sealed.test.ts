import { describe, expect, it } from 'vitest'
import { createSeals, type SealedValue, sealedValue } from './open-sealed.ts'

describe('a sealed value', () => {
  let now = 0
  const seals = createSeals(() => now)
  const refused = {
    reason: 'invalid_params',
    message: expect.stringMatching(/not one that this service got/),
  }
  const refusalOf = (sealed: SealedValue, instance = 'one', by = seals) => {
    try {
      return by.open(sealed, instance)
    } catch (cause) {
      return cause
    }
  }

  it('opens for its instance, and shows nothing of its content', () => {
    const sealed = seals.seal('a secret text', 'one', 1000)
    expect(sealedValue.safeParse(sealed).success).toBe(true)
    expect(Buffer.from(sealed.data, 'base64').toString('latin1')).not.toContain('secret')
    expect(seals.open(sealed, 'one')).toBe('a secret text')
    expect(seals.seal('a secret text', 'one', 1000)).not.toEqual(sealed)
  })

  it('opens neither for another instance nor in another process', () => {
    const sealed = seals.seal('text', 'one', 1000)
    expect(refusalOf(sealed, 'other')).toMatchObject(refused)
    expect(
      refusalOf(
        sealed,
        'one',
        createSeals(() => now),
      ),
    ).toMatchObject(refused)
  })

  it('opens until its time is over', () => {
    now = 0
    const sealed = seals.seal('text', 'one', 1000)
    now = 999
    expect(refusalOf(sealed)).toBe('text')
    now = 1000
    expect(refusalOf(sealed)).toMatchObject({
      reason: 'invalid_params',
      message: 'the sealed list is too old',
    })
  })

  it('does not open with any bit changed, or a part missing or short', () => {
    now = 0
    const sealed = seals.seal('text', 'one', 1000)
    for (const part of ['data', 'iv', 'tag'] as const) {
      const bytes = Buffer.from(sealed[part], 'base64')
      for (let at = 0; at < bytes.length * 8; at++) {
        const changed = Buffer.from(bytes)
        changed[at >> 3]! ^= 1 << (at & 7)
        expect(refusalOf({ ...sealed, [part]: changed.toString('base64') })).toMatchObject(refused)
      }
      for (const other of [bytes.subarray(0, 0), bytes.subarray(0, 4), Buffer.concat([bytes, bytes])])
        expect(refusalOf({ ...sealed, [part]: other.toString('base64') })).toMatchObject(refused)
    }
  })

  it.each(['!AAAA', 'AAAA!', 'AA=A', 'AA==='])('is base64, and not %j', (data) => {
    const sealed = seals.seal('text', 'one', 1000)
    expect(sealedValue.safeParse({ ...sealed, data }).success).toBe(false)
  })
})
