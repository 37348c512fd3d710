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
  // what could not be fetched once is not asked for again by the same page
  const missing =
    error instanceof Error && /preload CSS|dynamically imported|module script/.test(error.message);
  return (
    <Screen title="This screen stopped working">
      <ErrorState
        what={
          missing
            ? 'Its code could not be fetched: Atelier does not answer, or was updated since this page was opened.'
            : 'The page met an error of its own. Runs are not touched by it.'
        }
        error={{
          message: error instanceof Error ? error.message : String(error),
          code: 'page',
          details: error instanceof Error ? error.stack : undefined,
        }}
        action={
          missing ? (
            <Button onClick={() => window.location.reload()}>Load the page again</Button>
          ) : (
            <Button onClick={reset}>Show it again</Button>
          )
        }
      />
    </Screen>
  );
}
