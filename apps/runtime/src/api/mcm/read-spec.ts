/** The body of `POST /mcm/v1/containers`: a spec, or the record of a container as deployers of this API family send it back. */
import type { IncomingMessage } from 'node:http'
import { type ContainerSpec, containerSpec, expectedSpec, RpcError } from '@selvedge/protocol'
import * as z from 'zod'
import type { Owner } from '../../services/deployments/ownership.ts'
import { readJsonBody } from './read-json-body.ts'

const maxBodyBytes = 256 * 1024

const text = z.string().max(400).optional()

/** Members of a record that say again what follows from the token, from the name, or from deploying. */
const deployerBody = containerSpec.extend({
  image: containerSpec.shape.image.optional(),
  imageId: containerSpec.shape.image.optional(),
  id: text,
  clientId: text,
  state: text,
})

/** States of what was just deployed. */
const deployedStates = ['created', 'started', 'running']

/**
 * @param owner who deploys
 * @throws RpcError `limit_exceeded`; `invalid_params`, also for a member that contradicts another one or the token
 */
export async function readSpec(
  request: IncomingMessage,
  owner: Pick<Owner, 'client_id'>,
): Promise<ContainerSpec> {
  const read = deployerBody.safeParse(await readJsonBody(request, maxBodyBytes))
  if (!read.success) {
    const [issue] = read.error.issues
    throw refused(`${issue?.path.join('.') || 'the spec'}: ${issue?.message}; expected ${expectedSpec}`)
  }
  const { name, env, id, clientId, state } = read.data
  expectNothingElse('clientId', clientId, [owner.client_id], 'the token')
  expectNothingElse('id', id, [`${owner.client_id}-${name}`, name], 'the name and the token')
  expectNothingElse('state', state, deployedStates, 'a deployment')
  return { name, image: imageOf(read.data, owner), env }
}

/** `image` and `imageId` name the same image, in any of its forms. */
function imageOf(
  { image, imageId }: Pick<z.infer<typeof deployerBody>, 'image' | 'imageId'>,
  { client_id: clientId }: Pick<Owner, 'client_id'>,
): string {
  const asked = image ?? imageId
  if (asked === undefined) throw refused(`image: it is missing; expected ${expectedSpec}`)
  const nameOf = (idOrName: string) =>
    idOrName.startsWith(`${clientId}-`) ? idOrName.slice(clientId.length + 1) : idOrName
  if (image !== undefined && imageId !== undefined && !isSameImage(nameOf(imageId), nameOf(image)))
    expectNothingElse('imageId', imageId, [nameOf(image)], '"image"')
  return asked
}

const tag = /:[^/:]*$/

/** An ID has no tag, and a name may have one. */
const isSameImage = (one: string, other: string): boolean =>
  one === other || (one.replace(tag, '') === other.replace(tag, '') && !(tag.test(one) && tag.test(other)))

function expectNothingElse(
  member: string,
  value: string | undefined,
  expected: readonly string[],
  source: string,
): void {
  if (value === undefined || expected.includes(value)) return
  throw refused(
    `${member}: ${JSON.stringify(value.slice(0, 100))} contradicts ${source}; leave it out, or send ${expected.map((each) => JSON.stringify(each)).join(' or ')}`,
  )
}

const refused = (detail: string): RpcError => new RpcError('invalid_params', detail)
