/** An OCI container for users of an app, on a real Podman: a CGI program sees the person that the gateway names, and no other one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { reasonOf } from '../../harness/console.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { type Sharing, startSharing } from '../../harness/sharing.ts'

describe('an OCI container for users', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  let world: Sharing
  let path: string
  beforeAll(async () => {
    podman = await startPodman()
    world = await startSharing({ args: [`--oci.socket=${podman.socket}`] }, [])
    const { id: image } = await world.services.deployImage(
      cgiImage({ name: 'box', script: '/bin/busybox env' }),
    )
    const spec = { name: 'box', image, env: { 'MCM.ACCESS': 'users' } }
    const edgeAccessToken = world.services.token
    const { basePath } = await world.services.runtime().deployContainer({ edgeAccessToken, spec })
    path = `${basePath}/cgi-bin/run`
  })
  afterAll(async () => {
    await world?.stop()
    await podman?.stop()
  })

  const call = (token: string) => {
    const forgery = 'sub="root", name=%"root", groups=("admins")'
    const headers = { 'X-Selvedge-User': forgery, X_Selvedge_User: forgery, 'x.selvedge.user': forgery }
    return world.services.call(path, { token, headers })
  }

  it('lets a person of the account in', async () => {
    const { status, text } = await call((await world.signIn(world.owner)).body.access_token!)
    expect(status).toBe(200)
    expect(text).toContain(`HTTP_X_SELVEDGE_USER=sub="${world.owner.personId}"`)
    expect(text).not.toContain('root"')
  })

  it('lets a guest in while it is shared, and refuses the same token afterwards', async () => {
    const share = () => world.share('box', world.guest.personId)
    await expect.poll(() => reasonOf(share())).toBe('accepted')
    const { access_token: token } = (await world.signIn(world.guest)).body
    expect(await call(token!)).toMatchObject({
      status: 200,
      text: expect.stringContaining(`HTTP_X_SELVEDGE_USER=sub="${world.guest.personId}"`),
    })
    for (const { shareId } of await world.owner.console.api['share.list']({ nodeId: null }))
      await world.owner.console.api['share.remove']({ shareId })
    await expect.poll(async () => (await call(token!)).status).toBe(401)
  })

  it('refuses the developer who deployed it', async () => {
    expect((await call(world.services.token)).status).toBe(403)
  })
})
