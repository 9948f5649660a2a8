/** A node in the words of this API family: services read these members of a list that they opened. */

/** A node of `GET /mds/v1/nodes`, as far as services need it. */
export interface ListedNode {
  readonly nodeId: string
  readonly name: string | null
  readonly accountId: string | null
  readonly addresses: readonly string[]
  readonly services: readonly { readonly name: string; readonly path: string }[]
  readonly distance: number | null
  readonly fix: { readonly longitude: number; readonly latitude: number } | null
}

export function familyNode(node: ListedNode): object {
  const { nodeId, name, accountId, addresses, services, distance, fix } = node
  return {
    id: nodeId,
    nodeId,
    accountId,
    account: { id: accountId },
    attributes: name === null ? [] : [{ name: 'name', value: name }],
    characteristics: [],
    addresses: addresses.map((address) => ({ type: 'local', url: { href: urlOf(address) } })),
    services: services.map(familyService),
    distance,
    location: fix && { longitude: fix.longitude, latitude: fix.latitude },
  }
}

/** Nodes that do not listen for others announce a bare address. */
function urlOf(address: string): string {
  if (address.includes('://')) return address
  return address.includes(':') ? `http://[${address}]` : `http://${address}`
}

/** The first segment of the path is the client ID. */
function familyService({ name, path }: ListedNode['services'][number]): object {
  const [, clientId = ''] = path.split('/')
  const serviceType = `${clientId}-${name}`
  return { id: serviceType, serviceType, self: path, tenant: { id: clientId } }
}
