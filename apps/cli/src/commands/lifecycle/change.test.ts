/** What `selvedge start`, `stop`, `restart` and `redeploy` call for a name, which an app or a container has. */
import { expect, it } from 'vitest'
import type { Context } from '../../context/context.ts'
import { redeploy } from './redeploy.ts'
import { restart } from './restart.ts'
import { start } from './start.ts'
import { stop } from './stop.ts'

const named = (name: string, more = {}) => ({ id: `c-${name}`, name, ...more })
const web = named('web', { state: 'running' })
const member = named('shop-db', { state: 'running' })
const shop = named('shop', { members: [{ service: 'db', container: member }] })

/** @returns the methods that were called, each with its name or ID; the text for people */
async function changed(command: typeof stop, name: string, apps = [shop], containers = [web, member]) {
  const called: string[] = []
  const runtime = new Proxy(
    {},
    {
      get: (_, method: string) => async (params: { readonly name?: string; readonly id?: string }) => {
        if (method === 'getApps') return apps
        if (method === 'getContainers') return containers
        called.push(`${method} ${params.name ?? params.id}`)
        return params.name === undefined ? containers.find(({ id }) => id === params.id) : shop
      },
    },
  )
  const selection = () => ({ env: { SELVEDGE_ACCESS_TOKEN: 'token' } })
  const terminal = { isWatched: false }
  const context = { runtime, selection, terminal } as unknown as Context
  const result = await command.run(context, { args: [name], options: {} })
  return [called, command.human!(result as never)]
}

it.each([
  [start, ['startApp shop'], ['startContainer c-web']],
  [stop, ['stopApp shop'], ['stopContainer c-web']],
  [restart, ['stopApp shop', 'startApp shop'], ['stopContainer c-web', 'startContainer c-web']],
  [redeploy, ['redeployApp shop'], ['redeployContainer c-web']],
])('changes an app as a whole, and a container alone: %#', async (command, ofApp, ofContainer) => {
  for (const name of ['shop', 'c-shop']) expect(await changed(command, name)).toEqual([ofApp, 'db: running'])
  for (const name of ['web', 'c-web'])
    expect(await changed(command, name)).toEqual([ofContainer, 'web: running'])
})

it('changes a member of an app by the name of its container', async () => {
  expect(await changed(stop, 'shop-db')).toEqual([['stopContainer c-shop-db'], 'shop-db: running'])
})

it('changes nothing if both an app and a container have the name, or nothing', async () => {
  await expect(changed(stop, 'web', [named('web', { members: [] }) as never])).rejects.toThrow(
    'an app, and of a container',
  )
  for (const name of ['other', '', '__proto__'])
    await expect(changed(stop, name)).rejects.toThrow('there is no container or app')
})
