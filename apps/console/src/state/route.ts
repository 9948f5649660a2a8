/** Where in the console a person is: the path and the query of the page. */
import { useEffect, useState } from 'preact/hooks'

const moved = 'selvedge:moved'

export function navigate(path: string, replace = false): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  dispatchEvent(new Event(moved))
}

/** A part of the address, followed as it changes. */
function useAddress(read: () => string): string {
  const [value, setValue] = useState(read)
  useEffect(() => {
    const follow = () => setValue(read())
    for (const event of ['popstate', moved]) addEventListener(event, follow)
    return () => {
      for (const event of ['popstate', moved]) removeEventListener(event, follow)
    }
  }, [])
  return value
}

export const usePath = (): string => useAddress(() => location.pathname)

/** The query of the page, and a function that changes members of it in place; an empty text removes one. */
export function useQuery(): [
  query: URLSearchParams,
  change: (members: Readonly<Record<string, string>>) => void,
] {
  const query = new URLSearchParams(useAddress(() => location.search))
  const change = (members: Readonly<Record<string, string>>) => {
    const next = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(members)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    navigate(`${location.pathname}${next.size > 0 ? `?${next}` : ''}`, true)
  }
  return [query, change]
}
