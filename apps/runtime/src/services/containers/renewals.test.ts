import { describe, expect, it } from 'vitest'
import type { StoredContainer } from '../deployments/deployments.ts'
import { keyOf } from '../deployments/ownership.ts'
import type { Entry } from './entries.ts'
import { createRenewals } from './renewals.ts'

const owner = { account_id: 'a', client_id: 'c' }
const stored = (name: string, env: Record<string, string>, clientId = 'c') =>
  ({ accountId: 'a', clientId, name, env, revision: 1 }) as StoredContainer

/** @param containers by name; each runs unless it is in `paused` */
function start(
  containers: readonly StoredContainer[],
  { paused = [] as string[], wanted = true, renews = true } = {},
) {
  const done: string[] = []
  const turns: (() => Promise<void>)[] = []
  const entryOf = (name: string): Entry =>
    ({
      service: {
        retry: async () => void (paused.includes(name) && done.push(`retry ${name}`)),
        running: () =>
          paused.includes(name)
            ? undefined
            : {
                plan: { log: (_: string, text: string) => void done.push(`log ${text}`) },
                instance: renews
                  ? { renewSecrets: async (signal: string) => void done.push(`${signal} ${name}`) }
                  : {},
              },
      },
    }) as unknown as Entry
  const value = {
    containers: Object.fromEntries(
      containers.map((each) => [
        keyOf({ account_id: each.accountId, client_id: each.clientId }, each.name),
        each,
      ]),
    ),
  }
  const renewals = createRenewals({
    store: { value } as never,
    entries: { mayRun: () => wanted },
    renew: async (key) => {
      if (key.endsWith('/bad')) throw new Error('it is not healthy')
      done.push(`renew ${key}`)
    },
    takeAnyway: (key, work) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      turns.push(() => work(entryOf(key.split('/').at(-1)!), key).then(resolve, reject))
      return promise
    },
  })
  return { renewals, done, turns, run: () => Promise.all(turns.splice(0).map((each) => each())) }
}

const env = { 'MCM.SECRETS': 'db, other:/run/secrets/x' }

describe('a secret that was set', () => {
  it('is given to the containers of its project that use it, and to no others', async () => {
    const { renewals, done, run } = start([
      stored('web', env),
      stored('quiet', {}),
      stored('else', { 'MCM.SECRETS': 'dbx' }),
      stored('web', env, 'd'),
    ])
    expect(renewals.usersOfSecret(owner, 'db')).toEqual(['c-web'])
    renewals.renewSecret(owner, 'db')
    await run()
    expect(done).toEqual(['renew a/c/web'])
  })

  it('is given by a signal, if its settings have one and its engine can', async () => {
    const signal = { ...env, 'MCM.SECRETS_SIGNAL': 'SIGHUP' }
    const one = start([stored('web', signal)])
    one.renewals.renewSecret(owner, 'other')
    await one.run()
    expect(one.done).toEqual(['SIGHUP web', 'log a secret was set; it gets SIGHUP (MCM.SECRETS_SIGNAL)'])
    const two = start([stored('web', signal)], { renews: false })
    two.renewals.renewSecret(owner, 'db')
    await two.run()
    expect(two.done).toEqual(['renew a/c/web'])
  })

  it('starts what waits for it, and nothing that is stopped', async () => {
    const waits = start([stored('web', env)], { paused: ['web'] })
    waits.renewals.renewSecret(owner, 'db')
    await waits.run()
    expect(waits.done).toEqual(['retry web'])
    const stopped = start([stored('web', env)], { wanted: false })
    stopped.renewals.renewSecret(owner, 'db')
    await stopped.run()
    expect(stopped.done).toEqual([])
  })

  it('many times gives a container one new revision, and another one if it has begun', async () => {
    const { renewals, done, turns, run } = start([stored('web', env)])
    for (let at = 0; at < 1000; at++) renewals.renewSecret(owner, 'db')
    expect(turns).toHaveLength(1)
    await run()
    renewals.renewSecret(owner, 'db')
    await run()
    expect(done).toEqual(['renew a/c/web', 'renew a/c/web'])
  })

  it('does not stay with the containers after one that fails', async () => {
    const { renewals, done, run } = start([stored('bad', env), stored('web', env)])
    renewals.renewSecret(owner, 'db')
    await run()
    expect(done.toSorted()).toEqual([
      'log it did not get the new value of a secret: it is not healthy',
      'renew a/c/web',
    ])
  })
})
