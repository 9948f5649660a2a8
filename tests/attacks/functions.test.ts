/** Hostile functions: the runtime and the other services go on, and the reason of every end is in the history. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices } from '../harness/services.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.stop())

/** Deploys a module worker that runs the text as the body of an async function and answers with its result. */
async function attack(name: string, attempt: string, env: Record<string, string> = {}) {
  const source = `export default { async fetch(request, env, context) {
    try { return new Response(String(await (async () => { ${attempt} })())) }
    catch (error) { return new Response(error.name + ': ' + error.message) }
  } }`
  const { id, basePath } = await services.deploy(name, source, env)
  return { id, ask: () => services.call(basePath) }
}

async function expectAlive() {
  expect((await services.runtime().getMe()).nodeId).toMatch(/^[0-9a-f]{56}$/)
}

describe('the host socket', () => {
  it.each(['null', '[]', '"text"', '1', '{"audience":1}', '{', ''])(
    'refuses the identity token request %j and goes on',
    async (body) => {
      const { ask } = await attack(
        'identity',
        `const { status } = await fetch(context.info.apiRoot + '/runtime/v1/identity-token', { method: 'POST', body: ${JSON.stringify(body)} })
         return status`,
      )
      expect((await ask()).text).toBe('400')
      await expectAlive()
    },
  )
})
