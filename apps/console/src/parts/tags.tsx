/** Tags of a device; each leads to the devices that have it. */
import { Link } from './link.tsx'

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <>
      {tags.map((tag) => (
        <Link
          key={tag}
          class="tag"
          to={`/devices?tag=${encodeURIComponent(tag)}`}
          label={`Devices with the tag ${tag}`}
        >
          {tag}
        </Link>
      ))}
    </>
  )
}
