/** A device that left an account, or was blocked: what it has from before leads to nothing. */
import { identityPaths } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../harness/device.ts'
import { adminOf, createDeveloper, type Developer } from '../harness/flow.ts'
import { post } from '../harness/oauth.ts'
import { type Stack, startStack } from '../harness/processes.ts'

let stack: Stack
let developer: Developer
beforeAll(async () => {
  stack = await startStack()
  developer = await createDeveloper(stack.state)
})
afterAll(() => stack.stop())

const newDevice = (own = developer) =>
  createDevice({ identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }, own)

it('an access token from before a device left its account does not bring it back', async () => {
  const device = await newDevice()
  const account = { id: developer.accountId, access_token: device.accessToken }
  await device.state({ account: { id: '' } })
  await expect(device.state({ account })).rejects.toThrow(/before the node left its last account/)
})

it('the key of an account’s announcements changes when a device leaves it, or is blocked', async () => {
  const own = await createDeveloper(stack.state)
  const [staying, leaving, blocked] = [await newDevice(own), await newDevice(own), await newDevice(own)]
  const first = await staying.accountKey()
  expect(first).toMatch(/^[0-9a-f]{64}$/)
  expect(await leaving.accountKey()).toBe(first)
  await leaving.state({ account: { id: '' } })
  const second = await staying.accountKey()
  expect(second).not.toBe(first)
  expect(await blocked.accountKey()).toBe(second)
  await adminOf(stack.state)['node.block']({ nodeId: blocked.nodeId })
  expect(await staying.accountKey()).not.toBe(second)
})

it('a blocked device asks for no verdict on codes with the edge ID token that it still has', async () => {
  const device = await newDevice()
  const token = await device.tenantToken()
  expect((await device.verifyHmac(token)).valid).toBe(false)
  await adminOf(stack.state)['node.block']({ nodeId: device.nodeId })
  await expect(device.verifyHmac(token)).rejects.toThrow(/blocked/)
})

it('asks for no verdict on codes with an edge ID token that was revoked', async () => {
  const device = await newDevice()
  const token = await device.tenantToken()
  expect((await device.verifyHmac(token)).valid).toBe(false)
  expect((await post(`${stack.identity.url}/revoke`, { token })).status).toBe(200)
  await expect(device.verifyHmac(token)).rejects.toThrow(/revoked/)
})

describe('the question whose an access token is (/userinfo)', () => {
  const statusFor = async (token: string) => {
    const url = `${stack.identity.url}${identityPaths.userinfo}`
    return (await fetch(url, { headers: { Authorization: `Bearer ${token}` } })).status
  }

  it('is not answered when the project of the token is turned off', async () => {
    const own = await createDeveloper(stack.state)
    const device = await newDevice(own)
    expect(await statusFor(device.accessToken)).toBe(200)
    await adminOf(stack.state)['project.disable']({ clientId: own.clientId })
    expect(await statusFor(device.accessToken)).toBe(401)
  })

  it('is not answered when the device of the token is blocked', async () => {
    const device = await newDevice()
    expect(await statusFor(device.accessToken)).toBe(200)
    await adminOf(stack.state)['node.block']({ nodeId: device.nodeId })
    expect(await statusFor(device.accessToken)).toBe(401)
  })
})
