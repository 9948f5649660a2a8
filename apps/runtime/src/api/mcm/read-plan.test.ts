import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { plan, service } from '../../../../../tests/harness/app-device.ts'
import { readDeployment } from './read-plan.ts'

const read = (body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readDeployment(Object.assign(Readable.from([Buffer.from(text)]), { headers: {} }) as never)
}
const valid = plan('shop', [service('web')])

it('a plan is read as it was sent', async () => {
  expect(await read(valid)).toEqual({ plan: valid })
  const more = { secrets: [{ name: 'key', value: 'eA==' }], deployment: 'at-random' }
  expect(await read({ plan: valid, ...more })).toEqual({ plan: valid, ...more })
})

it.each<[object, string]>([
  [{ plan: { ...valid, name: '' } }, 'plan.name: '],
  [{ plan: valid, other: 1 }, 'the plan: '],
  [{ plan: valid, secrets: [{ name: 'x' }] }, 'secrets.0.value: '],
  [{ plan: valid, pulls: [{ source: '/etc/passwd', name: 'x' }] }, 'pulls.0.source: '],
  [{ plan: valid, deployment: 'x' }, 'deployment: '],
])('refuses %j by its path', async (body, expected) => {
  await expect(read(body)).rejects.toMatchObject({
    reason: 'invalid_params',
    message: expect.stringContaining(expected),
  })
})

it.each<[string, unknown, string]>([
  ['a wrong member', { ...valid, services: [{ ...service('web'), pull: 'x' }] }, 'services.0.pull: '],
  ['an unknown member', { ...valid, other: 1 }, 'the plan: '],
  ['no service', { ...valid, services: [] }, 'services: '],
  [
    '65 services',
    { ...valid, services: Array.from({ length: 65 }, (_, at) => service(`s${at}`)) },
    'services: ',
  ],
  ['a name that objects have', { ...valid, name: '__proto__' }, 'name: '],
  ['a list', [], 'the plan: '],
  ['other text', 'services:', 'the body is not strict JSON'],
])('refuses %s, with what is expected', async (_, body, expected) => {
  const refused = await read(body).catch((cause) => cause)
  expect(refused).toMatchObject({ reason: 'invalid_params' })
  expect(refused.message).toContain(expected)
  if (typeof body !== 'string') expect(refused.message).toContain('; expected a plan of an app')
})

it('refuses a plan of more than 256 KiB', async () => {
  const env = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`V${at}`, 'x'.repeat(32_768)]))
  const large = { ...valid, services: [service('web', { env })] }
  await expect(read(large)).rejects.toMatchObject({ reason: 'limit_exceeded' })
})
