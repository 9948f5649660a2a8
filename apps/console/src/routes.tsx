/** Views by the first word of the path. The code of each is loaded when it is first shown. */
import type { Viewer } from '@selvedge/protocol/console'
import type { FunctionComponent } from 'preact'
import { type Loaded, lazyView } from './parts/lazy-view.tsx'

/** The second and third word of the path: an ID, and a part of the page. */
export interface RouteProps {
  readonly id: string
  readonly part: string
}

const DevicesView = lazyView(() => import('./views/devices/devices.tsx'))
const DeviceView = lazyView(() => import('./views/device/device.tsx'))
const JoinKeysView = lazyView(() => import('./views/join-keys/join-keys.tsx'))
const ProjectsView = lazyView(() => import('./views/projects/projects.tsx'))
const ProjectView = lazyView(() => import('./views/projects/project.tsx'))
const AccountView = lazyView(() => import('./views/account/account.tsx'))
const PeopleView = lazyView(() => import('./views/people.tsx'))
const AuditView = lazyView(() => import('./views/audit.tsx'))

/** Views of signed-in people. */
export const routes: Readonly<Record<string, FunctionComponent<RouteProps>>> = {
  '': () => <DevicesView />,
  devices: ({ id, part }) => {
    if (id === 'join-keys') return <JoinKeysView />
    return id === '' ? <DevicesView /> : <DeviceView nodeId={id} part={part} />
  },
  projects: ({ id, part }) => (id === '' ? <ProjectsView /> : <ProjectView clientId={id} part={part} />),
  account: () => <AccountView />,
  people: () => <PeopleView />,
  audit: () => <AuditView />,
}

/** A view with nothing beside it: the frame of such pages comes with it, at the same time. */
const loneView = <Props extends object>(load: () => Promise<Loaded<Props>>) =>
  lazyView<Props>(async () => {
    const [{ Lone }, { default: View }] = await Promise.all([import('./parts/lone.tsx'), load()])
    return {
      default: (props) => (
        <Lone>
          <View {...props} />
        </Lone>
      ),
    }
  })

const LinkView = loneView(() => import('./views/lone/link.tsx'))
const AppView = loneView(() => import('./views/lone/app.tsx'))

/** Views with nothing beside them, whether a person is signed in or not: links, and what apps send a browser to. */
export const openViews: Readonly<
  Record<string, FunctionComponent<{ viewer: Viewer | undefined; onDone: () => Promise<void> }>>
> = {
  setup: LinkView,
  join: LinkView,
  reset: LinkView,
  authorize: AppView,
  logout: AppView,
}

/** Views with nothing beside them: the sign-in, and the approval of a terminal. */
export const CompanyView = loneView(() => import('./views/lone/company.tsx'))
export const SignInView = loneView(() => import('./views/lone/sign-in.tsx'))
export const TerminalView = loneView(() => import('./views/lone/terminal.tsx'))
export const NotFoundView = lazyView(() => import('./views/not-found.tsx'))
