/** Where in the console a person is: the path of the page. */
import { useEffect, useState } from 'preact/hooks'

const moved = 'selvedge:moved'

export function navigate(path: string, replace = false): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  dispatchEvent(new Event(moved))
}

/** The path, followed as it changes. */
export function usePath(): string {
  const [path, setPath] = useState(location.pathname)
  useEffect(() => {
    const follow = () => setPath(location.pathname)
    for (const event of ['popstate', moved]) addEventListener(event, follow)
    return () => {
      for (const event of ['popstate', moved]) removeEventListener(event, follow)
    }
  }, [])
  return path
}
