import { describe, expect, it } from 'vitest'
import type { Secrets } from './secrets.ts'
import { createServiceSecrets } from './service-secrets.ts'

const owner = { account_id: 'a', client_id: 'c' }

function start(users: readonly string[] = []) {
  const stored: Buffer[] = []
  const renewed: string[] = []
  const secrets = {
    set: async (_: unknown, name: string, value: Buffer) => {
      stored.push(value)
      return { name, size: value.length, updated: '', damaged: false }
    },
    list: () => [{ name: 'db', size: 1, updated: '', damaged: false }],
    remove: async (_: unknown, name: string, expectUnused: () => void) => {
      expectUnused()
      return { name }
    },
  } as unknown as Secrets
  const renewals = {
    usersOfSecret: () => [...users],
    renewSecret: (_: unknown, name: string) => void renewed.push(name),
  }
  return { stored, renewed, service: createServiceSecrets(secrets, renewals) }
}

describe('a secret of callers', () => {
  it('is stored as the bytes of its text or of its base64, and then given to its containers', async () => {
    const { stored, renewed, service } = start(['c-web'])
    expect(await service.set(owner, 'db', 'größe', 'text')).toMatchObject({ size: 7, containers: ['c-web'] })
    await service.set(owner, 'db', 'AP8=', 'base64')
    expect(stored).toEqual([Buffer.from('größe'), Buffer.from([0, 255])])
    expect(renewed).toEqual(['db', 'db'])
  })

  it.each(['AP8', 'AP8=\n', 'AP9=x', 'A P8=', '_-__', '====', 'AP9='])(
    'is refused as base64: %j',
    async (text) => {
      const { stored, renewed, service } = start()
      await expect(service.set(owner, 'db', text, 'base64')).rejects.toMatchObject({
        reason: 'invalid_params',
      })
      expect([stored, renewed]).toEqual([[], []])
    },
  )

  it('is listed with the containers that use it, and not removed while there are any', async () => {
    const { service } = start(['c-web', 'c-job'])
    expect(service.list(owner)).toMatchObject([{ name: 'db', containers: ['c-web', 'c-job'] }])
    await expect(service.remove(owner, 'db')).rejects.toMatchObject({
      reason: 'in_use',
      message: 'the secret "db" is used by c-web, c-job',
    })
    expect(await start().service.remove(owner, 'db')).toEqual({ name: 'db' })
  })
})
