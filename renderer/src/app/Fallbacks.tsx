import { Link } from '@tanstack/react-router';
import { Button, buttonClass } from '../components/Button';
import { Screen } from '../components/Screen';
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from '../components/States';

/** The frame of a screen whose code is still on its way. */
export function Pending() {
  return (
    <Screen title={<Skeleton width={160} height={28} />}>
      <SkeletonRows rows={8} label="Loading the screen" />
    </Screen>
  );
}

export function NotFound() {
  return (
    <Screen title="Nothing here">
      <EmptyState
        title="This address leads nowhere"
        action={
          <Link to="/" className={buttonClass('primary')}>
            Go home
          </Link>
        }
      >
        The run, model or page may have been removed.
      </EmptyState>
    </Screen>
  );
}

/** What is left of a screen that threw: the rest of the app goes on. */
export function Crash({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Screen title="This screen stopped working">
      <ErrorState
        what="The page met an error of its own. Runs are not touched by it."
        error={{
          message: error instanceof Error ? error.message : String(error),
          code: 'page',
          details: error instanceof Error ? error.stack : undefined,
        }}
        action={<Button onClick={reset}>Show it again</Button>}
      />
    </Screen>
  );
}
