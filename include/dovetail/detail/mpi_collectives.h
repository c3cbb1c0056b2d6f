/// @file
/// Collectives in C: a part of <dovetail/dovetail_mpi.h>, which says what holds. Written by scripts/mpi_forms.py.
#ifndef DOVETAIL_DETAIL_MPI_COLLECTIVES_H
#define DOVETAIL_DETAIL_MPI_COLLECTIVES_H

#include "dovetail/detail/mpi_describe.h"

// clang-format off
typedef struct dovetail_mpi_barrier_arguments { MPI_Comm communicator; } dovetail_mpi_barrier_arguments;
static inline int dovetail_mpi_begin_ibarrier(const void* given, void* request) {
  const dovetail_mpi_barrier_arguments* with = (const dovetail_mpi_barrier_arguments*)given;
  return MPI_Ibarrier(with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ibarrier(MPI_Comm communicator) {
  const dovetail_mpi_barrier_arguments given = {communicator};
  return dovetail_mpi_collective("MPI_Ibarrier", dovetail_mpi_begin_ibarrier, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_barrier(MPI_Comm communicator) {
  const dovetail_mpi_barrier_arguments given = {communicator};
  return dovetail_mpi_collective("MPI_Barrier", dovetail_mpi_begin_ibarrier, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_bcast_arguments { void* data; MPI_Datatype type; MPI_Comm communicator; int count; int root; } dovetail_mpi_bcast_arguments;
static inline int dovetail_mpi_begin_ibcast(const void* given, void* request) {
  const dovetail_mpi_bcast_arguments* with = (const dovetail_mpi_bcast_arguments*)given;
  return MPI_Ibcast(with->data, with->count, with->type, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const dovetail_mpi_bcast_arguments given = {data, type, communicator, count, root};
  return dovetail_mpi_collective("MPI_Ibcast", dovetail_mpi_begin_ibcast, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const dovetail_mpi_bcast_arguments given = {data, type, communicator, count, root};
  return dovetail_mpi_collective("MPI_Bcast", dovetail_mpi_begin_ibcast, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_gather_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; int root; } dovetail_mpi_gather_arguments;
static inline int dovetail_mpi_begin_igather(const void* given, void* request) {
  const dovetail_mpi_gather_arguments* with = (const dovetail_mpi_gather_arguments*)given;
  return MPI_Igather(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_igather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_gather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count, root};
  return dovetail_mpi_collective("MPI_Igather", dovetail_mpi_begin_igather, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_gather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_gather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count, root};
  return dovetail_mpi_collective("MPI_Gather", dovetail_mpi_begin_igather, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_gatherv_arguments { const void* sent; MPI_Datatype sent_type; void* received; const int* counts; const int* places; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int root; } dovetail_mpi_gatherv_arguments;
static inline int dovetail_mpi_begin_igatherv(const void* given, void* request) {
  const dovetail_mpi_gatherv_arguments* with = (const dovetail_mpi_gatherv_arguments*)given;
  return MPI_Igatherv(with->sent, with->sent_count, with->sent_type, with->received, with->counts, with->places, with->received_type, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_igatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_gatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count, root};
  return dovetail_mpi_collective("MPI_Igatherv", dovetail_mpi_begin_igatherv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_gatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_gatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count, root};
  return dovetail_mpi_collective("MPI_Gatherv", dovetail_mpi_begin_igatherv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_scatter_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; int root; } dovetail_mpi_scatter_arguments;
static inline int dovetail_mpi_begin_iscatter(const void* given, void* request) {
  const dovetail_mpi_scatter_arguments* with = (const dovetail_mpi_scatter_arguments*)given;
  return MPI_Iscatter(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iscatter(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_scatter_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count, root};
  return dovetail_mpi_collective("MPI_Iscatter", dovetail_mpi_begin_iscatter, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_scatter(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_scatter_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count, root};
  return dovetail_mpi_collective("MPI_Scatter", dovetail_mpi_begin_iscatter, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_scatterv_arguments { const void* sent; const int* counts; const int* places; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int received_count; int root; } dovetail_mpi_scatterv_arguments;
static inline int dovetail_mpi_begin_iscatterv(const void* given, void* request) {
  const dovetail_mpi_scatterv_arguments* with = (const dovetail_mpi_scatterv_arguments*)given;
  return MPI_Iscatterv(with->sent, with->counts, with->places, with->sent_type, with->received, with->received_count, with->received_type, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iscatterv(const void* sent, const int* counts, const int* places, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_scatterv_arguments given = {sent, counts, places, sent_type, received, received_type, communicator, received_count, root};
  return dovetail_mpi_collective("MPI_Iscatterv", dovetail_mpi_begin_iscatterv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_scatterv(const void* sent, const int* counts, const int* places, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, int root, MPI_Comm communicator) {
  const dovetail_mpi_scatterv_arguments given = {sent, counts, places, sent_type, received, received_type, communicator, received_count, root};
  return dovetail_mpi_collective("MPI_Scatterv", dovetail_mpi_begin_iscatterv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_allgather_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; } dovetail_mpi_allgather_arguments;
static inline int dovetail_mpi_begin_iallgather(const void* given, void* request) {
  const dovetail_mpi_allgather_arguments* with = (const dovetail_mpi_allgather_arguments*)given;
  return MPI_Iallgather(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iallgather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_allgather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Iallgather", dovetail_mpi_begin_iallgather, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_allgather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_allgather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Allgather", dovetail_mpi_begin_iallgather, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_allgatherv_arguments { const void* sent; MPI_Datatype sent_type; void* received; const int* counts; const int* places; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; } dovetail_mpi_allgatherv_arguments;
static inline int dovetail_mpi_begin_iallgatherv(const void* given, void* request) {
  const dovetail_mpi_allgatherv_arguments* with = (const dovetail_mpi_allgatherv_arguments*)given;
  return MPI_Iallgatherv(with->sent, with->sent_count, with->sent_type, with->received, with->counts, with->places, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iallgatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_allgatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count};
  return dovetail_mpi_collective("MPI_Iallgatherv", dovetail_mpi_begin_iallgatherv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_allgatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_allgatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count};
  return dovetail_mpi_collective("MPI_Allgatherv", dovetail_mpi_begin_iallgatherv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_alltoall_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; } dovetail_mpi_alltoall_arguments;
static inline int dovetail_mpi_begin_ialltoall(const void* given, void* request) {
  const dovetail_mpi_alltoall_arguments* with = (const dovetail_mpi_alltoall_arguments*)given;
  return MPI_Ialltoall(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ialltoall(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_alltoall_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Ialltoall", dovetail_mpi_begin_ialltoall, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_alltoall(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_alltoall_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Alltoall", dovetail_mpi_begin_ialltoall, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_alltoallv_arguments { const void* sent; const int* sent_counts; const int* sent_places; MPI_Datatype sent_type; void* received; const int* received_counts; const int* received_places; MPI_Datatype received_type; MPI_Comm communicator; } dovetail_mpi_alltoallv_arguments;
static inline int dovetail_mpi_begin_ialltoallv(const void* given, void* request) {
  const dovetail_mpi_alltoallv_arguments* with = (const dovetail_mpi_alltoallv_arguments*)given;
  return MPI_Ialltoallv(with->sent, with->sent_counts, with->sent_places, with->sent_type, with->received, with->received_counts, with->received_places, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ialltoallv(const void* sent, const int* sent_counts, const int* sent_places, MPI_Datatype sent_type, void* received, const int* received_counts, const int* received_places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_alltoallv_arguments given = {sent, sent_counts, sent_places, sent_type, received, received_counts, received_places, received_type, communicator};
  return dovetail_mpi_collective("MPI_Ialltoallv", dovetail_mpi_begin_ialltoallv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_alltoallv(const void* sent, const int* sent_counts, const int* sent_places, MPI_Datatype sent_type, void* received, const int* received_counts, const int* received_places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_alltoallv_arguments given = {sent, sent_counts, sent_places, sent_type, received, received_counts, received_places, received_type, communicator};
  return dovetail_mpi_collective("MPI_Alltoallv", dovetail_mpi_begin_ialltoallv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_alltoallw_arguments { const void* sent; const int* sent_counts; const int* sent_places; const MPI_Datatype* sent_types; void* received; const int* received_counts; const int* received_places; const MPI_Datatype* received_types; MPI_Comm communicator; } dovetail_mpi_alltoallw_arguments;
static inline int dovetail_mpi_begin_ialltoallw(const void* given, void* request) {
  const dovetail_mpi_alltoallw_arguments* with = (const dovetail_mpi_alltoallw_arguments*)given;
  return MPI_Ialltoallw(with->sent, with->sent_counts, with->sent_places, with->sent_types, with->received, with->received_counts, with->received_places, with->received_types, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ialltoallw(const void* sent, const int* sent_counts, const int* sent_places, const MPI_Datatype* sent_types, void* received, const int* received_counts, const int* received_places, const MPI_Datatype* received_types, MPI_Comm communicator) {
  const dovetail_mpi_alltoallw_arguments given = {sent, sent_counts, sent_places, sent_types, received, received_counts, received_places, received_types, communicator};
  return dovetail_mpi_collective("MPI_Ialltoallw", dovetail_mpi_begin_ialltoallw, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_alltoallw(const void* sent, const int* sent_counts, const int* sent_places, const MPI_Datatype* sent_types, void* received, const int* received_counts, const int* received_places, const MPI_Datatype* received_types, MPI_Comm communicator) {
  const dovetail_mpi_alltoallw_arguments given = {sent, sent_counts, sent_places, sent_types, received, received_counts, received_places, received_types, communicator};
  return dovetail_mpi_collective("MPI_Alltoallw", dovetail_mpi_begin_ialltoallw, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_reduce_arguments { const void* sent; void* received; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; int count; int root; } dovetail_mpi_reduce_arguments;
static inline int dovetail_mpi_begin_ireduce(const void* given, void* request) {
  const dovetail_mpi_reduce_arguments* with = (const dovetail_mpi_reduce_arguments*)given;
  return MPI_Ireduce(with->sent, with->received, with->count, with->type, with->operation, with->root, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ireduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm communicator) {
  const dovetail_mpi_reduce_arguments given = {sent, received, type, operation, communicator, count, root};
  return dovetail_mpi_collective("MPI_Ireduce", dovetail_mpi_begin_ireduce, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_reduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, int root, MPI_Comm communicator) {
  const dovetail_mpi_reduce_arguments given = {sent, received, type, operation, communicator, count, root};
  return dovetail_mpi_collective("MPI_Reduce", dovetail_mpi_begin_ireduce, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_allreduce_arguments { const void* sent; void* received; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; int count; } dovetail_mpi_allreduce_arguments;
static inline int dovetail_mpi_begin_iallreduce(const void* given, void* request) {
  const dovetail_mpi_allreduce_arguments* with = (const dovetail_mpi_allreduce_arguments*)given;
  return MPI_Iallreduce(with->sent, with->received, with->count, with->type, with->operation, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iallreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_allreduce_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Iallreduce", dovetail_mpi_begin_iallreduce, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_allreduce_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Allreduce", dovetail_mpi_begin_iallreduce, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_reduce_scatter_arguments { const void* sent; void* received; const int* counts; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; } dovetail_mpi_reduce_scatter_arguments;
static inline int dovetail_mpi_begin_ireduce_scatter(const void* given, void* request) {
  const dovetail_mpi_reduce_scatter_arguments* with = (const dovetail_mpi_reduce_scatter_arguments*)given;
  return MPI_Ireduce_scatter(with->sent, with->received, with->counts, with->type, with->operation, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ireduce_scatter(const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_reduce_scatter_arguments given = {sent, received, counts, type, operation, communicator};
  return dovetail_mpi_collective("MPI_Ireduce_scatter", dovetail_mpi_begin_ireduce_scatter, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_reduce_scatter(const void* sent, void* received, const int* counts, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_reduce_scatter_arguments given = {sent, received, counts, type, operation, communicator};
  return dovetail_mpi_collective("MPI_Reduce_scatter", dovetail_mpi_begin_ireduce_scatter, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_reduce_scatter_block_arguments { const void* sent; void* received; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; int count; } dovetail_mpi_reduce_scatter_block_arguments;
static inline int dovetail_mpi_begin_ireduce_scatter_block(const void* given, void* request) {
  const dovetail_mpi_reduce_scatter_block_arguments* with = (const dovetail_mpi_reduce_scatter_block_arguments*)given;
  return MPI_Ireduce_scatter_block(with->sent, with->received, with->count, with->type, with->operation, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ireduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_reduce_scatter_block_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Ireduce_scatter_block", dovetail_mpi_begin_ireduce_scatter_block, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_reduce_scatter_block(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_reduce_scatter_block_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Reduce_scatter_block", dovetail_mpi_begin_ireduce_scatter_block, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_scan_arguments { const void* sent; void* received; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; int count; } dovetail_mpi_scan_arguments;
static inline int dovetail_mpi_begin_iscan(const void* given, void* request) {
  const dovetail_mpi_scan_arguments* with = (const dovetail_mpi_scan_arguments*)given;
  return MPI_Iscan(with->sent, with->received, with->count, with->type, with->operation, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_scan_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Iscan", dovetail_mpi_begin_iscan, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_scan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_scan_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Scan", dovetail_mpi_begin_iscan, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_exscan_arguments { const void* sent; void* received; MPI_Datatype type; MPI_Op operation; MPI_Comm communicator; int count; } dovetail_mpi_exscan_arguments;
static inline int dovetail_mpi_begin_iexscan(const void* given, void* request) {
  const dovetail_mpi_exscan_arguments* with = (const dovetail_mpi_exscan_arguments*)given;
  return MPI_Iexscan(with->sent, with->received, with->count, with->type, with->operation, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_iexscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_exscan_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Iexscan", dovetail_mpi_begin_iexscan, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_exscan(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const dovetail_mpi_exscan_arguments given = {sent, received, type, operation, communicator, count};
  return dovetail_mpi_collective("MPI_Exscan", dovetail_mpi_begin_iexscan, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_neighbor_allgather_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; } dovetail_mpi_neighbor_allgather_arguments;
static inline int dovetail_mpi_begin_ineighbor_allgather(const void* given, void* request) {
  const dovetail_mpi_neighbor_allgather_arguments* with = (const dovetail_mpi_neighbor_allgather_arguments*)given;
  return MPI_Ineighbor_allgather(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ineighbor_allgather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_allgather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Ineighbor_allgather", dovetail_mpi_begin_ineighbor_allgather, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_neighbor_allgather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_allgather_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Neighbor_allgather", dovetail_mpi_begin_ineighbor_allgather, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_neighbor_allgatherv_arguments { const void* sent; MPI_Datatype sent_type; void* received; const int* counts; const int* places; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; } dovetail_mpi_neighbor_allgatherv_arguments;
static inline int dovetail_mpi_begin_ineighbor_allgatherv(const void* given, void* request) {
  const dovetail_mpi_neighbor_allgatherv_arguments* with = (const dovetail_mpi_neighbor_allgatherv_arguments*)given;
  return MPI_Ineighbor_allgatherv(with->sent, with->sent_count, with->sent_type, with->received, with->counts, with->places, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ineighbor_allgatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_allgatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count};
  return dovetail_mpi_collective("MPI_Ineighbor_allgatherv", dovetail_mpi_begin_ineighbor_allgatherv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_neighbor_allgatherv(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, const int* counts, const int* places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_allgatherv_arguments given = {sent, sent_type, received, counts, places, received_type, communicator, sent_count};
  return dovetail_mpi_collective("MPI_Neighbor_allgatherv", dovetail_mpi_begin_ineighbor_allgatherv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_neighbor_alltoall_arguments { const void* sent; MPI_Datatype sent_type; void* received; MPI_Datatype received_type; MPI_Comm communicator; int sent_count; int received_count; } dovetail_mpi_neighbor_alltoall_arguments;
static inline int dovetail_mpi_begin_ineighbor_alltoall(const void* given, void* request) {
  const dovetail_mpi_neighbor_alltoall_arguments* with = (const dovetail_mpi_neighbor_alltoall_arguments*)given;
  return MPI_Ineighbor_alltoall(with->sent, with->sent_count, with->sent_type, with->received, with->received_count, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ineighbor_alltoall(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoall_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Ineighbor_alltoall", dovetail_mpi_begin_ineighbor_alltoall, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_neighbor_alltoall(const void* sent, int sent_count, MPI_Datatype sent_type, void* received, int received_count, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoall_arguments given = {sent, sent_type, received, received_type, communicator, sent_count, received_count};
  return dovetail_mpi_collective("MPI_Neighbor_alltoall", dovetail_mpi_begin_ineighbor_alltoall, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_neighbor_alltoallv_arguments { const void* sent; const int* sent_counts; const int* sent_places; MPI_Datatype sent_type; void* received; const int* received_counts; const int* received_places; MPI_Datatype received_type; MPI_Comm communicator; } dovetail_mpi_neighbor_alltoallv_arguments;
static inline int dovetail_mpi_begin_ineighbor_alltoallv(const void* given, void* request) {
  const dovetail_mpi_neighbor_alltoallv_arguments* with = (const dovetail_mpi_neighbor_alltoallv_arguments*)given;
  return MPI_Ineighbor_alltoallv(with->sent, with->sent_counts, with->sent_places, with->sent_type, with->received, with->received_counts, with->received_places, with->received_type, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ineighbor_alltoallv(const void* sent, const int* sent_counts, const int* sent_places, MPI_Datatype sent_type, void* received, const int* received_counts, const int* received_places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoallv_arguments given = {sent, sent_counts, sent_places, sent_type, received, received_counts, received_places, received_type, communicator};
  return dovetail_mpi_collective("MPI_Ineighbor_alltoallv", dovetail_mpi_begin_ineighbor_alltoallv, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_neighbor_alltoallv(const void* sent, const int* sent_counts, const int* sent_places, MPI_Datatype sent_type, void* received, const int* received_counts, const int* received_places, MPI_Datatype received_type, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoallv_arguments given = {sent, sent_counts, sent_places, sent_type, received, received_counts, received_places, received_type, communicator};
  return dovetail_mpi_collective("MPI_Neighbor_alltoallv", dovetail_mpi_begin_ineighbor_alltoallv, &given, sizeof given, &communicator, 1);
}
typedef struct dovetail_mpi_neighbor_alltoallw_arguments { const void* sent; const int* sent_counts; const MPI_Aint* sent_places; const MPI_Datatype* sent_types; void* received; const int* received_counts; const MPI_Aint* received_places; const MPI_Datatype* received_types; MPI_Comm communicator; } dovetail_mpi_neighbor_alltoallw_arguments;
static inline int dovetail_mpi_begin_ineighbor_alltoallw(const void* given, void* request) {
  const dovetail_mpi_neighbor_alltoallw_arguments* with = (const dovetail_mpi_neighbor_alltoallw_arguments*)given;
  return MPI_Ineighbor_alltoallw(with->sent, with->sent_counts, with->sent_places, with->sent_types, with->received, with->received_counts, with->received_places, with->received_types, with->communicator, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_ineighbor_alltoallw(const void* sent, const int* sent_counts, const MPI_Aint* sent_places, const MPI_Datatype* sent_types, void* received, const int* received_counts, const MPI_Aint* received_places, const MPI_Datatype* received_types, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoallw_arguments given = {sent, sent_counts, sent_places, sent_types, received, received_counts, received_places, received_types, communicator};
  return dovetail_mpi_collective("MPI_Ineighbor_alltoallw", dovetail_mpi_begin_ineighbor_alltoallw, &given, sizeof given, &communicator, 0);
}
static inline int32_t dovetail_mpi_neighbor_alltoallw(const void* sent, const int* sent_counts, const MPI_Aint* sent_places, const MPI_Datatype* sent_types, void* received, const int* received_counts, const MPI_Aint* received_places, const MPI_Datatype* received_types, MPI_Comm communicator) {
  const dovetail_mpi_neighbor_alltoallw_arguments given = {sent, sent_counts, sent_places, sent_types, received, received_counts, received_places, received_types, communicator};
  return dovetail_mpi_collective("MPI_Neighbor_alltoallw", dovetail_mpi_begin_ineighbor_alltoallw, &given, sizeof given, &communicator, 1);
}
// clang-format on

#endif
