import { RpcError } from '@selvedge/protocol'
import { readReference } from '../../../../apps/runtime/src/services/images/registry/reference.ts'
import { expectThat, outcomeOf, type Target } from '../engine/target.ts'

/** References to images in registries. */
export const reference: Target = {
  name: 'reference',
  covers: ['apps/runtime/src/services/images/registry/reference.ts'],
  seeds: () =>
    [
      'alpine',
      'docker://registry.example:5000/team/app:1.0',
      `localhost/a/b__c.d-e@sha256:${'0'.repeat(64)}`,
      `r.example/${'a'.repeat(300)}:${'t'.repeat(60)}`,
    ].map((each) => Buffer.from(each)),
  words: ['docker://', ':', '/', '@sha256:', '--', '__', '.', '..', '//', '%2f', '?', '#', '@'],
  maxBytes: 32 * 1024,
  open: () => ({
    parse: (input) =>
      outcomeOf(() => {
        const { registry, repository, version } = readReference(input.toString('latin1'))
        // The parts stand in a URL, where each must stay what it is.
        const url = new URL(`https://${registry}/v2/${repository}/manifests/${version}`)
        expectThat(url.pathname === `/v2/${repository}/manifests/${version}`, `the path is ${url.pathname}`)
        expectThat(
          url.username === '' && url.search === '' && url.hash === '',
          'a part leads out of the path',
        )
        return version.startsWith('sha256:') ? 'digest' : 'tag'
      }, [RpcError]),
  }),
}
