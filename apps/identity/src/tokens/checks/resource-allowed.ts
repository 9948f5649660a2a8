import { OAuthError } from '@selvedge/protocol'
import { edgeAudience } from '@selvedge/protocol/tokens'
import type { Project } from '../../registry/projects/projects.ts'

/** A resource asked for (RFC 8707) is one of the project. Gives the audience of the token: the edge, and the resource. */
export function checkResourceAllowed({ resources }: Project, asked: string | undefined): string | string[] {
  if (asked === undefined || asked === edgeAudience) return edgeAudience
  if (resources.includes(asked)) return [edgeAudience, asked]
  throw new OAuthError('invalid_target', 'the resource is not one of the project')
}
