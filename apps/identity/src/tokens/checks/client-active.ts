import { OAuthError } from '@selvedge/protocol'
import type { Project, Projects } from '../../registry/projects/projects.ts'

/** The client ID is that of a project, and the project is not turned off. */
export async function checkClientActive(projects: Projects, clientId: string): Promise<Project> {
  const project = await projects.find(clientId)
  if (project?.active) return project
  throw new OAuthError(
    'invalid_client',
    'no active project has this client_id; the project page shows the right one',
  )
}
