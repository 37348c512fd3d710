import type { ReactNode } from 'react';
import { Screen } from './Screen';
import { EmptyState, ErrorState, SkeletonRows, type Failure } from './States';

/** The screen of one thing that is not there: still being read, not readable, or gone. */
export function Absent({
  thing,
  failure,
  loading,
  back,
  onRetry,
}: {
  /** As in “There is no such model”. */
  thing: string;
  failure: Failure | null;
  loading: boolean;
  /** A link to where its like are listed. */
  back: ReactNode;
  onRetry: () => unknown;
}) {
  return (
    <Screen title={thing.charAt(0).toUpperCase() + thing.slice(1)}>
      {failure !== null && failure.code !== 'not_found' ? (
        <ErrorState what={`The ${thing} cannot be shown.`} error={failure} onRetry={onRetry} />
      ) : failure === null && loading ? (
        <SkeletonRows rows={6} label={`Loading the ${thing}`} />
      ) : (
        <EmptyState title={`There is no such ${thing}`} action={back}>
          It may have been removed.
        </EmptyState>
      )}
    </Screen>
  );
}
