"""Catalog datasets: list, describe, register, complete, remove."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from fastapi import APIRouter, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from sqlalchemy import Row, Select, bindparam, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session, joinedload

from noeira_tui.catalog.wire import DatasetRow, NewDataset, RowStatus, format_time
from noeira_tui.service import answers
from noeira_tui.service.answers import REFUSALS
from noeira_tui.service.audit import Action
from noeira_tui.service.bodies import CompleteBody, DatasetBody
from noeira_tui.service.contents import (
    Contents,
    adopt,
    lock_contents,
)
from noeira_tui.service.context import Authorised, Call, Json, ProtectedRoute
from noeira_tui.service.database import WouldWaitError
from noeira_tui.service.doomed import doom_uploads
from noeira_tui.service.finding import check_segment
from noeira_tui.service.pages import Paged
from noeira_tui.service.problems import RequestRefusedError
from noeira_tui.service.store import fresh_object_key
from noeira_tui.service.tables import Blob, Dataset, DatasetUpload, now


class _Found(NamedTuple):
    """A dataset and what is known of its contents, by the names of the columns."""

    id: str
    name: str
    version: str
    env_id: str | None
    n_rows: int | None
    n_episodes: int | None
    seed: int | None
    source_commit: str | None
    columns: str | None
    filename: str | None
    created_at: datetime
    updated_at: datetime
    sha256: str | None
    size_bytes: int | None
    object_key: str | None


_TIMES = tuple(_Found._fields.index(name) for name in ("created_at", "updated_at"))
_OF_CONTENTS = ("sha256", "size_bytes", "object_key")
_ROWS: Select[Any] = select(
    # Plain columns: lists are long.
    *((Blob if name in _OF_CONTENTS else Dataset).__table__.c[name] for name in _Found._fields),
).outerjoin(Blob, Blob.pk == Dataset.blob_pk)
"""Datasets with what is known of their contents."""
_ONE_ROW = _ROWS.where(Dataset.account_pk == bindparam("account"), Dataset.id == bindparam("dataset"))
_ONE_ROW_SQL = str(_ONE_ROW.compile(dialect=sqlite.dialect(paramstyle="named")))
router = APIRouter(route_class=ProtectedRoute, tags=["datasets"], responses=REFUSALS)


@router.get("/datasets", **answers.answers(list[answers.Dataset]))
def list_datasets(call: Authorised, page: Paged) -> Response:
    """Every dataset of the account, pending ones included, by id."""
    if call.access.project is not None:
        return JSONResponse([])
    query = _ROWS.where(Dataset.account_pk == call.access.account_pk)
    if page.after is not None:
        query = query.where(Dataset.id > page.after)
    with call.database.read() as session:
        rows = session.execute(query.order_by(Dataset.id).limit(page.fetch)).all()
    return page.answer(rows, lambda row: str(row.id), lambda row: _shape(row).to_json())


@router.get("/datasets/{dataset_id}", **answers.answers(answers.DatasetWithUrl))
async def describe_dataset(call: Authorised, dataset_id: str) -> Response:
    """One dataset and where its bytes are; 409 while it is pending."""
    row = None
    if call.access.project is None:
        told = {"account": call.access.account_pk, "dataset": dataset_id}
        try:
            row = _found(call.database.first_now(_ONE_ROW_SQL, told))
        except WouldWaitError:
            row = await run_in_threadpool(_read_one, call, told)
    if row is None:
        raise _unknown(dataset_id)
    if row.object_key is None:
        raise RequestRefusedError(
            409, f"Dataset {dataset_id} is pending: its upload never completed. Push it again, or remove it."
        )
    return JSONResponse({**_shape(row).to_json(), **call.links.download(row.object_key)})


@router.post("/datasets", status_code=201, **answers.answers(answers.Registration, status=201))
def register_dataset(call: Authorised, body: DatasetBody) -> Json:
    """Announce a dataset. Every registration has its own object key; what was ready stays so until it completes."""
    call.refuse_project_keys()
    for field, text in (("name", body.name), ("version", body.version)):
        check_segment(field, text)
    facts = body.facts()
    dataset_id = f"{facts.name}-{facts.version}"
    object_key = fresh_object_key(facts.filename)
    with call.database.write() as session:
        row = session.scalar(_by_id(call, dataset_id))
        if row is None:
            call.bounds.new_dataset(session, call.access)
            row = Dataset(account_pk=call.access.account_pk, id=dataset_id, name=facts.name, version=facts.version)
            session.add(row)
        elif (row.name, row.version) != (facts.name, facts.version):
            raise RequestRefusedError(
                409, f"The id {dataset_id} belongs to name {row.name!r}, version {row.version!r}. Choose another name."
            )
        if row.blob_pk is None:
            _take_facts(row, facts)
        session.flush()
        session.add(
            DatasetUpload(
                dataset_pk=row.pk, api_key_id=call.access.key_id, object_key=object_key, facts=facts.to_json()
            )
        )
        call.note(session, Action.REGISTERED, f"datasets/{dataset_id}")
    return {"id": dataset_id, "object_key": object_key, "bucket": call.store.bucket, **call.links.upload(object_key)}


@router.post("/datasets/{dataset_id}/complete", **answers.answers(answers.Completed))
def complete_dataset(call: Authorised, dataset_id: str, body: CompleteBody) -> Json:
    """Publish an upload, after looking at what the store has. The newest one of the same key unless it is named."""
    call.refuse_project_keys()
    done = {"id": dataset_id, "status": RowStatus.READY.value}
    contents = body.contents
    with call.database.read() as session:
        upload = _upload(session, call, dataset_id, body.object_key)
        if _was_completed(upload, contents):
            return done
        former = call.readable_blobs(session, [contents.sha256]).get(contents)
    try:
        former_key = former.object_key if former is not None else None
        looked = call.comparisons.look_at_upload([upload.object_key], contents, former_key)
    except RequestRefusedError:
        with call.database.read() as session:
            if _was_completed(_upload(session, call, dataset_id, upload.object_key), contents):
                # A request for the same upload published it meanwhile, and tidied up.
                return done
        raise
    call.store.flush()
    with call.database.write() as session:
        upload = _upload(session, call, dataset_id, upload.object_key)
        if _was_completed(upload, contents):
            call.store.discard(looked.leftovers(None))
            return done
        lock_contents(session, call.access)
        known = call.readable_blobs(session, [contents.sha256])
        if contents not in known:
            call.bounds.room(session, call.access).take(contents)
        blob = adopt(session, call.access, looked, known)
        row = session.scalars(_by_id(call, dataset_id)).one()
        row.blob_pk, row.updated_at = blob.pk, now()
        _take_facts(row, NewDataset(**upload.facts))
        upload.completed_sha256, upload.completed_bytes = contents.sha256, contents.size_bytes
        call.note(session, Action.COMPLETED, f"datasets/{dataset_id}", size_bytes=contents.size_bytes)
    call.store.discard(looked.leftovers(blob))
    return done


@router.delete("/datasets/{dataset_id}", status_code=204)
def remove_dataset(call: Authorised, dataset_id: str) -> None:
    """Forget a dataset and its registrations."""
    call.refuse_project_keys()
    with call.database.write() as session:
        row = _find(session, call, dataset_id)
        doom_uploads(session, call.context.config, DatasetUpload, DatasetUpload.dataset_pk == row.pk)
        session.delete(row)
        call.note(session, Action.DELETED, f"datasets/{dataset_id}")


def _read_one(call: Call, told: dict[str, object]) -> _Found | None:
    with call.database.read() as session:
        row = session.execute(_ONE_ROW, told).one_or_none()
    return _Found(*row) if row is not None else None


def _found(values: tuple[Any, ...] | None) -> _Found | None:
    """A row of SQLite's own, which keeps times as text in UTC."""
    if values is None:
        return None
    created, updated = (datetime.fromisoformat(values[place]).replace(tzinfo=UTC) for place in _TIMES)
    return _Found(*values)._replace(created_at=created, updated_at=updated)


def _by_id(call: Call, dataset_id: str) -> Select[Dataset]:
    """A dataset to change: whoever else changes or removes it waits for this transaction."""
    return (
        select(Dataset)
        .where(Dataset.account_pk == call.access.account_pk, Dataset.id == dataset_id)
        .with_for_update(of=Dataset, key_share=True)
    )


def _find(session: Session, call: Call, dataset_id: str) -> Dataset:
    row = None
    if call.access.project is None:
        row = session.scalar(_by_id(call, dataset_id).options(joinedload(Dataset.blob)))
    if row is None:
        raise _unknown(dataset_id)
    return row


def _unknown(dataset_id: str) -> RequestRefusedError:
    return RequestRefusedError(404, f"There is no dataset {dataset_id}")


def _upload(session: Session, call: Call, dataset_id: str, object_key: str | None) -> DatasetUpload:
    row = _find(session, call, dataset_id)
    query = select(DatasetUpload).where(DatasetUpload.dataset_pk == row.pk)
    if object_key is not None:
        query = query.where(DatasetUpload.object_key == object_key)
    else:
        query = query.where(DatasetUpload.api_key_id == call.access.key_id)
    upload = session.scalar(query.order_by(DatasetUpload.pk.desc()).limit(1))
    if upload is None:
        raise RequestRefusedError(
            404, f"Dataset {dataset_id} has no such registration by this API key: POST /datasets first"
        )
    return upload


def _was_completed(upload: DatasetUpload, contents: Contents) -> bool:
    """Whether this very upload was published before with these contents; 422 when it was with others."""
    if upload.completed_sha256 is None:
        return False
    if (upload.completed_sha256, upload.completed_bytes) != (contents.sha256, contents.size_bytes):
        raise RequestRefusedError(
            422, f"This upload was completed with the sha256 {upload.completed_sha256}: register again to replace it"
        )
    return True


def _take_facts(row: Dataset, facts: NewDataset) -> None:
    row.env_id, row.n_rows, row.n_episodes = facts.env_id, facts.n_rows, facts.n_episodes
    row.seed, row.source_commit = facts.seed, facts.source_commit
    row.columns, row.filename = facts.columns, facts.filename


def _shape(row: Row[Any] | _Found) -> DatasetRow:
    return DatasetRow(
        id=row.id,
        name=row.name,
        version=row.version,
        status=RowStatus.READY if row.object_key is not None else RowStatus.PENDING,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
        env_id=row.env_id,
        n_rows=row.n_rows,
        n_episodes=row.n_episodes,
        seed=row.seed,
        source_commit=row.source_commit,
        columns=row.columns,
        filename=row.filename,
        created_at=format_time(row.created_at),
        updated_at=format_time(row.updated_at),
    )
